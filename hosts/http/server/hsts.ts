/** The header of HSTS: RFC 6797. */
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";

/**
 * Returns the header for an encrypted connection. Otherwise returns no header, because browsers would ignore it.
 * @param seconds how long browsers must use HTTPS for the host; 0 for no header
 */
export const hstsHeaders = (connection: Socket, seconds: number): Readonly<Record<string, string>> =>
  seconds > 0 && (connection as Partial<TLSSocket>).encrypted === true
    ? { "strict-transport-security": `max-age=${seconds}` }
    : {};
