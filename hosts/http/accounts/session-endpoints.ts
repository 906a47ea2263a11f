/** The sessions of the console. */
import type { ConsoleLink, SignedIn } from "../../../core/control-plane.ts";
import { sessionLimits } from "../../../core/domain/accounts/limits.ts";
import { revokeSessionFields, signInFields } from "../../../core/domain/wire/requests.ts";
import {
  consoleLinkSchema,
  detailSchema,
  sessionListSchema,
  signInSchema,
} from "../../../core/domain/wire/responses.ts";
import { forbidden } from "../../../core/errors.ts";
import { errAsync } from "../../../core/result.ts";
import { get, post, withoutFields } from "../endpoint.ts";
import { sessionCookie } from "./client-context.ts";

const NEEDS_TLS = forbidden(
  "Sign-in needs HTTPS, because the connection leaves this machine. Put a proxy with TLS in front of the API and set " +
    "its origin (`serve --console-origin`, or `origins` of the plugin), or open the console on the server's machine.",
);

export const sessionEndpoints = [
  post("/v1/console/link", {
    operation: "createConsoleLink",
    summary: "Create a link that signs in to the console.",
    description:
      "The link works once, within 60 seconds. It needs an API key or a token: a session of the console cannot " +
      "create links (403). The session has the rights of the credential and ends with it.",
    response: consoleLinkSchema,
    run: (controlPlane, principal, request, { signal }) =>
      withoutFields(request, () => controlPlane.createConsoleLink(principal, { signal })),
    render: (result, { base }) => {
      const { token, expires_at } = result as ConsoleLink;
      const body = { url: `${base}/console/#link=${token}`, expires_at };
      return { body, headers: { "cache-control": "no-store" } };
    },
  }),
  post("/v1/console/sign-in", {
    operation: "signIn",
    summary: "Sign in to the console with a link or an API key.",
    description:
      "Needs no credential. Send either `link` or `key`. Starts a session of at most 12 hours and sets its cookie. Later " +
      "requests need the cookie and the header `X-Portside-Console` with the `request_token`. A link that was used or is " +
      "older than 60 seconds fails with 403. Except on the server's machine, the connection must use HTTPS (403). An " +
      `address may send ${sessionLimits.signInsPerMinute} invalid keys per minute (429). If the request has the cookie ` +
      "and `X-Portside-Console` of a session, the new session replaces it. An account has at most " +
      `${sessionLimits.perAccount} sessions; a further sign-in ends the oldest one.`,
    fields: signInFields,
    needsOneOf: ["link", "key"],
    response: signInSchema,
    isPublic: true,
    headers: { "Set-Cookie": "The cookie of the session: HttpOnly, SameSite=Strict, and Secure over HTTPS." },
    run: (controlPlane, _nobody, request, { signal, client }) =>
      client.isEncrypted || client.isLoopback
        ? controlPlane.signIn(request, client.address, { signal, replaces: client.session })
        : errAsync(NEEDS_TLS),
    render: (result, client) => {
      const { cookie, lifeMs, ...body } = result as SignedIn;
      return { body, headers: { "set-cookie": sessionCookie(client, cookie, lifeMs), "cache-control": "no-store" } };
    },
  }),
  post("/v1/console/sign-out", {
    operation: "signOut",
    summary: "End the session that sends the request.",
    description: "Fails with 409 if the request has no session.",
    response: detailSchema,
    headers: { "Set-Cookie": "Removes the cookie of the session." },
    run: (controlPlane, principal, request, { signal }) =>
      withoutFields(request, () => controlPlane.signOut(principal, { signal })),
    render: (body, client) => ({ body, headers: { "set-cookie": sessionCookie(client, "", 0) } }),
  }),
  get("/v1/console/sessions", {
    operation: "listSessions",
    summary: "List the console sessions of your account.",
    description: "Returns each session with the credential that started it, oldest first.",
    response: sessionListSchema,
    run: (controlPlane, principal, _request, { signal }) => controlPlane.listSessions(principal, { signal }),
  }),
  post("/v1/console/revoke", {
    operation: "revokeSession",
    summary: "End one of your account's console sessions.",
    description:
      "The session and its open streams end within 10 seconds on every server of the platform. Fails with 404 if the " +
      "session has ended already.",
    fields: revokeSessionFields,
    response: detailSchema,
    run: (controlPlane, principal, request, { signal }) => controlPlane.revokeSession(principal, request, { signal }),
  }),
] as const;
