/** The HTTP port: answers validations by certificate authorities, and redirects other requests to HTTPS. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { httpsOrigin, plainHost } from "../ingress/domain.ts";
import { NO_CERTIFICATE, sendErrorResponse } from "../ingress/error-responses.ts";

/** https://www.rfc-editor.org/rfc/rfc8555#section-8.3 */
const CHALLENGE = "/.well-known/acme-challenge/";

export interface HttpPortDeps {
  /** Returns the key authorization of a validation, or undefined if no validation is pending. */
  readonly answerTo: (host: string, token: string) => string | undefined;
  /** Returns true if the TLS port has a certificate for the host. */
  readonly hasCertificate: (host: string) => boolean;
  /** The port of HTTPS. */
  readonly tlsPort: () => number;
  readonly id: () => string;
}

/**
 * Redirects with 308, because browsers turn a POST into a GET after a 301. A host without a certificate gets a 404,
 * because a redirect would lead to a TLS error.
 */
export const serveHttpPort = (deps: HttpPortDeps, req: IncomingMessage, res: ServerResponse): void => {
  const host = plainHost(req.headers.host ?? "");
  const path = req.url ?? "";
  const answer = path.startsWith(CHALLENGE) ? deps.answerTo(host, path.slice(CHALLENGE.length)) : undefined;
  if (answer !== undefined) {
    res.writeHead(200, { "content-type": "application/octet-stream", "content-length": Buffer.byteLength(answer) });
    res.end(answer);
  } else if (path.startsWith("/") && deps.hasCertificate(host)) {
    res.writeHead(308, { location: httpsOrigin(host, deps.tlsPort()) + path, "content-length": 0 });
    res.end();
  } else sendErrorResponse(res, NO_CERTIFICATE, deps.id());
};
