/** The properties of a request that sign-in needs: the sender, the origin, and whether the connection is safe. */
import type { FastifyRequest } from "fastify";
import type { z } from "zod";
import type { ControlPlane } from "../../../core/control-plane.ts";
import { isLoopbackHost } from "../../../core/domain/accounts/safe-origin.ts";
import type { consoleSchema } from "../../../core/domain/wire/responses.ts";

export interface ClientContext {
  /** The network address of the client. Behind a proxy that the server does not trust, the address of the proxy. */
  readonly address: string;
  /** The origin and the path prefix under which a browser reaches the API, without a trailing slash. */
  readonly base: string;
  /** True if the browser's connection is encrypted. */
  readonly isEncrypted: boolean;
  /** True if the connection does not leave the browser's machine. */
  readonly isLoopback: boolean;
  /** The secrets of a console session that the request contains. They are not checked. */
  readonly session: SessionSecrets | undefined;
  /** The console of this server, for `GET /v1/capabilities`. */
  readonly console: z.output<typeof consoleSchema>;
}

export interface ClientContextOptions {
  readonly prefix: string;
  readonly origins: ReadonlySet<string>;
  readonly console: ClientContext["console"];
}

/** The two secrets of a session. */
type SessionSecrets = NonNullable<Parameters<ControlPlane["authenticate"]>[0]["session"]>;

/** The header with the second secret of a session. A page with a different origin cannot set it. */
export const REQUEST_TOKEN_HEADER = "x-portside-console";

const PLAIN_COOKIE = "portside_session";
/** Browsers accept the prefix only for a cookie of this host that was set over TLS. */
const ENCRYPTED_COOKIE = `__Host-${PLAIN_COOKIE}`;

const originHost = (origin: string | undefined): readonly string[] =>
  origin !== undefined && URL.canParse(origin) ? [new URL(origin).hostname] : [];

export const clientContextOf = (
  { protocol, host, hostname, ip, headers }: FastifyRequest,
  { prefix, origins, console }: ClientContextOptions,
): ClientContext => {
  const [configured] = origins;
  // Behind a proxy that terminates TLS, only the page's configured origin shows that the browser uses TLS.
  const isOwnPage = headers.origin !== undefined && origins.has(headers.origin);
  return {
    address: ip,
    base: `${configured ?? `${protocol}://${host}`}${prefix}`,
    isEncrypted: protocol === "https" || (isOwnPage && headers.origin?.startsWith("https://") === true),
    // A proxy on this machine may send the loopback address as the host, so the page's own origin must be loopback too.
    isLoopback: [hostname, ...originHost(headers.origin)].every(isLoopbackHost),
    session: sessionSecretsOf(headers),
    console,
  };
};

/** https://www.rfc-editor.org/rfc/rfc6265#section-5.4 */
const cookieOf = (header: string | undefined, name: string): string | undefined =>
  header
    ?.split(";")
    .map((pair) => pair.trim())
    .find((pair) => pair.startsWith(`${name}=`))
    ?.slice(name.length + 1);

/** Returns the secrets of a session, or undefined if the request does not have both. */
export const sessionSecretsOf = (headers: FastifyRequest["headers"]): SessionSecrets | undefined => {
  const cookie = cookieOf(headers.cookie, ENCRYPTED_COOKIE) ?? cookieOf(headers.cookie, PLAIN_COOKIE);
  const requestToken = headers[REQUEST_TOKEN_HEADER];
  return cookie === undefined || typeof requestToken !== "string" ? undefined : { cookie, requestToken };
};

/** @param value empty to remove the cookie */
export const sessionCookie = ({ isEncrypted }: ClientContext, value: string, lifeMs: number): string =>
  [
    `${isEncrypted ? ENCRYPTED_COOKIE : PLAIN_COOKIE}=${value}`,
    "Path=/",
    `Max-Age=${Math.floor(lifeMs / 1000)}`,
    "HttpOnly",
    "SameSite=Strict",
    ...(isEncrypted ? ["Secure"] : []),
  ].join("; ");
