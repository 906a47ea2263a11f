/** The console of a local platform, whose uploads in parts pass through a proxy. */
import { atPort, portOf } from "../http/rewriting-proxy.ts";
import type { TestPlatform } from "../providers/local-platform.ts";
import { type ServedConsole, serveConsole } from "./served-console.ts";

/** Returns the port of the platform's storage. */
export const storagePortOf = async ({ client }: ServedConsole, volume: string): Promise<number> => {
  const grant = await client.grantUpload({ volume, object: "probe" });
  return portOf("url" in grant ? grant.url : "");
};

/** Replaces members of a port, and binds the others, because a port may be a class with private fields. */
const withMembers = <T extends object>(port: T, members: Partial<T>): T =>
  new Proxy(port, {
    get: (target, name) => {
      const value = Reflect.get({ ...members }, name) ?? Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });

/** Serves the console. Uploads in parts go to the proxy at `port`. */
export const serveThrough = ({ local: { ports } }: TestPlatform, port: number): Promise<ServedConsole> => {
  const { volumes } = ports.provider;
  const { uploadsInParts, grantOrigins } = volumes;
  if (uploadsInParts === undefined || grantOrigins === undefined) throw new Error("uploads have no parts");
  const routed = withMembers(volumes, {
    grantOrigins: () => grantOrigins.call(volumes).map((origins) => [...origins, `http://127.0.0.1:${port}`]),
    uploadsInParts: {
      ...uploadsInParts,
      grant: (...args) =>
        uploadsInParts.grant(...args).map(({ urls, completeUrl, ...grant }) => ({
          ...grant,
          urls: urls.map((url) => atPort(url, port)),
          completeUrl: atPort(completeUrl, port),
        })),
    },
  });
  return serveConsole({ ...ports, provider: { ...ports.provider, volumes: routed } });
};
