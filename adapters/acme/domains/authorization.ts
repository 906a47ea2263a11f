/** Authorizations and their challenges: RFC 8555, sections 7.5 and 8. */
import { z } from "zod";
import type { CertificateRequest, Challenge } from "../../../core/ports/certificate-authority.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, ok, type ResultAsync, safeTry } from "../../../core/result.ts";
import type { Account } from "./account.ts";
import type { Wait } from "./polling.ts";
import { type AcmeProblem, problemOf, refused, reportedProblem } from "./problem.ts";
import { parseBody } from "./responses.ts";
import type { AcmeFailure } from "./signed-requests.ts";

const authorizationSchema = z.object({
  status: z.enum(["pending", "valid", "invalid", "deactivated", "expired", "revoked"]),
  challenges: z.array(
    z.object({
      type: z.string(),
      url: z.string(),
      status: z.string(),
      /** The alphabet of base64url, because the token becomes part of a path. */
      token: z
        .string()
        .regex(/^[A-Za-z0-9_-]{1,256}$/)
        .optional(),
      error: reportedProblem,
    }),
  ),
});

type Authorization = z.infer<typeof authorizationSchema>;

/** Returns the reason for a failed authorization, in the authority's words. */
const authorizationProblem = ({ challenges, status }: Authorization): AcmeProblem => {
  const error = challenges.find((one) => one.error !== undefined)?.error;
  return error === undefined ? refused(`The authority ended the validation: ${status}.`) : problemOf(error);
};

const chosenChallenge = (
  { host, responder }: CertificateRequest,
  { challenges }: Authorization,
  thumbprint: string,
): { readonly url: string; readonly isPending: boolean; readonly challenge: Challenge } | undefined => {
  for (const type of responder.types) {
    const offered = challenges.find((one) => one.type === type);
    if (offered?.token === undefined) continue;
    const { token, url, status } = offered;
    const isPending = status === "pending";
    return { url, isPending, challenge: { type, host, token, keyAuthorization: `${token}.${thumbprint}` } };
  }
  return undefined;
};

/** Proves control of a host. Withdraws the challenge, even after a failure. */
export type Authorize = (
  request: CertificateRequest,
  url: string,
  wait: Wait,
  options?: CallOptions,
) => ResultAsync<void, AcmeFailure>;

export const createAuthorize = (authority: string, account: Account): Authorize => {
  const read = (url: string, options?: CallOptions) =>
    account
      .postAboutOrder(url, "", options)
      .andThen((response) =>
        parseBody(authority, authorizationSchema, response).map((authorization) => ({ response, authorization })),
      );

  /** Polls an authorization until the authority has validated the host. */
  const validated = (url: string, wait: Wait, options?: CallOptions): ResultAsync<void, AcmeFailure> =>
    safeTry(async function* () {
      for (;;) {
        const { response, authorization } = yield* read(url, options);
        if (authorization.status === "valid") return ok<void, AcmeFailure>(undefined);
        if (authorization.status !== "pending") return err(authorizationProblem(authorization));
        yield* wait(response);
      }
    });

  return (request, url, wait, options) =>
    safeTry(async function* () {
      const { authorization } = yield* read(url, options);
      if (authorization.status === "valid") return ok<void, AcmeFailure>(undefined);
      if (authorization.status !== "pending") return err(authorizationProblem(authorization));
      const chosen = chosenChallenge(request, authorization, yield* account.thumbprint(options));
      if (chosen === undefined) {
        const offered = authorization.challenges.map(({ type }) => type).join(", ");
        return err(refused(`The authority offers no challenge that Portside can answer: ${offered}.`));
      }
      const { challenge, isPending } = chosen;
      const result = await request.responder
        .publish(challenge)
        // If a restart interrupted the order, the authority may already be validating the challenge.
        .andThen(() =>
          isPending ? account.postAboutOrder(chosen.url, {}, options).map(() => undefined) : ok(undefined),
        )
        .andThen(() => validated(url, wait, options));
      const withdrawn = await request.responder.withdraw(challenge);
      return result.andThen(() => withdrawn);
    });
};
