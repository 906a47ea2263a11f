/**
 * A package registry on a loopback port with the two parts that npm needs: a document for each package, and archives.
 */
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { tarGz } from "./archives.ts";

export interface Registry extends AsyncDisposable {
  readonly url: string;
  /** The requested paths, oldest first. */
  readonly asked: string[];
  /** A lock file with these packages, at the versions of the registry. */
  lockFor(dependencies: Readonly<Record<string, string>>, dev?: Readonly<Record<string, string>>): string;
}

/** A package's files by path; its `package.json` is generated. */
export type Packages = Readonly<
  Record<string, { readonly version: string; readonly files: Readonly<Record<string, string>> }>
>;

export const serveRegistry = async (packages: Packages): Promise<Registry> => {
  const archives = new Map(
    Object.entries(packages).map(([name, { version, files }]) => {
      const manifest = {
        name,
        version,
        main: "index.js",
        bin: files["cli.js"] === undefined ? {} : { [name]: "cli.js" },
      };
      const all = { "package.json": JSON.stringify(manifest), ...files };
      const mode = (path: string) => (path === "cli.js" ? 0o755 : 0o644);
      const archive = tarGz(
        Object.entries(all).map(([path, content]) => ({ path: `package/${path}`, content, mode: mode(path) })),
      );
      const integrity = `sha512-${createHash("sha512").update(archive).digest("base64")}`;
      return [name, { manifest, archive, integrity }] as const;
    }),
  );
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "");
    asked.push(path);
    const [, name = "", dash] = path.split("/");
    const found = archives.get(name);
    if (found === undefined) return response.writeHead(404).end("{}");
    if (dash === "-") return response.end(found.archive);
    const { manifest, integrity } = found;
    const dist = { tarball: `${url}${name}/-/${name}-${manifest.version}.tgz`, integrity };
    const document = {
      name,
      "dist-tags": { latest: manifest.version },
      versions: { [manifest.version]: { ...manifest, dist } },
    };
    response.setHeader("content-type", "application/json").end(JSON.stringify(document));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}/`;
  return {
    url,
    asked,
    lockFor: (dependencies, dev = {}) => {
      const entry = (name: string, isDev: boolean) => [
        `node_modules/${name}`,
        {
          version: archives.get(name)?.manifest.version,
          integrity: archives.get(name)?.integrity,
          bin: archives.get(name)?.manifest.bin,
          ...(isDev ? { dev: true } : {}),
        },
      ];
      const root = { name: "test", dependencies, devDependencies: dev };
      const entries = [
        ...Object.keys(dependencies).map((name) => entry(name, false)),
        ...Object.keys(dev).map((name) => entry(name, true)),
      ];
      return JSON.stringify({
        name: "test",
        lockfileVersion: 3,
        requires: true,
        packages: { "": root, ...Object.fromEntries(entries) },
      });
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
