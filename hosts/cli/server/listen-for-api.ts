/** The address of the API. The engine's process imports this file, but not the API itself. */
import { isIP } from "node:net";
import { describeListenError, type Listening } from "../../../adapters/shared/runtime/loopback.ts";
import type { ServeSettings } from "../../composition/settings.ts";
import { CommandError } from "../terminal/io.ts";

/** Returns the URL of a listening address as seen from this machine. */
export const urlOf = (host: string, port: number): string => {
  const reached = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "[::1]" : isIP(host) === 6 ? `[${host}]` : host;
  return `http://${reached}:${port}`;
};

/**
 * Returns the URL pattern of deployments at the TLS port, or undefined if there is no such port. NAME is the name of a
 * deployment, and DOMAIN is a custom domain.
 */
export const httpsUrlOf = ({ domain }: Pick<ServeSettings, "domain">, port: number | undefined): string | undefined => {
  if (port === undefined) return undefined;
  const suffix = port === 443 ? "" : `:${port}`;
  if (domain === undefined) return `https://DOMAIN${suffix}`;
  const { hostname } = new URL(domain.includes("://") ? domain : `https://${domain}`);
  return `https://NAME.${hostname}${suffix}`;
};

export type Listen = (host: string, port: number) => Promise<Listening>;

/** Listens on the API's address. Port 0 reuses the port of the last start if possible, otherwise picks a free one. */
export const listenForApi = async (
  listen: Listen,
  { host, port }: Pick<ServeSettings, "host" | "port">,
  previous: number,
): Promise<Listening> => {
  const wanted = port === 0 ? previous : port;
  try {
    return await listen(host, wanted);
  } catch (error) {
    if (port !== 0 || wanted === 0)
      throw new CommandError(
        describeListenError(error, {
          port: wanted,
          purpose: "API",
          setting: "--port",
          address: { host, setting: "--host" },
        }),
      );
    return listen(host, 0);
  }
};
