/** Signed requests with nonces: RFC 8555, sections 6.2 and 6.5. */
import { createPublicKey, type KeyObject } from "node:crypto";
import { FlattenedSign, type JWK } from "jose";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { CallOptions, Clock } from "../../../core/ports/system.ts";
import { err, ok, type ResultAsync, safeTry } from "../../../core/result.ts";
import type { Directory } from "./directory.ts";
import type { AcmeHttp, AcmeResponse } from "./http.ts";
import { type AcmeProblem, failureOf } from "./problem.ts";
import { malformedResponse } from "./responses.ts";

/** The signer of a request: an account with a URL, or a key that has no account yet. */
export interface Signer {
  readonly key: KeyObject;
  readonly url: string | null;
}

export type AcmeFailure = AcmeProblem | Unavailable;

/**
 * Authorities reject nonces that they no longer store, for example after a restart. Each rejection contains a new
 * nonce.
 */
const MAX_TRIES = 10;

/** Concurrent orders each use one nonce at a time. */
const MAX_NONCES = 64;

/** Returns the public key of an EC private key as a JWK, with the members that a thumbprint needs (RFC 7638). */
export const publicJwk = (key: KeyObject): JWK => createPublicKey(key).export({ format: "jwk" });

/** Signs a payload with ES256. The payload is an empty string for a request that reads (POST-as-GET). */
export const signPayload = async (
  payload: unknown,
  { key, url: kid }: Signer,
  header: { readonly url: string; readonly nonce?: string },
): Promise<unknown> =>
  new FlattenedSign(Buffer.from(payload === "" ? "" : JSON.stringify(payload)))
    .setProtectedHeader({ alg: "ES256", ...(kid === null ? { jwk: publicJwk(key) } : { kid }), ...header })
    .sign(key);

export interface SignedRequests {
  /** Fails with `problem` if the authority refuses the request. */
  post(url: string, payload: unknown, signer: Signer, options?: CallOptions): ResultAsync<AcmeResponse, AcmeFailure>;
}

export interface RequestDeps {
  readonly http: AcmeHttp;
  readonly directory: (options?: CallOptions) => ResultAsync<Directory, Unavailable>;
  readonly clock: Clock;
}

export const createSignedRequests = (authority: string, { http, directory, clock }: RequestDeps): SignedRequests => {
  const nonces: string[] = [];
  const keepNonce = (response: AcmeResponse) => {
    const nonce = response.header("replay-nonce");
    if (nonce !== undefined && nonces.length < MAX_NONCES) nonces.push(nonce);
  };
  const takeNonce = (options?: CallOptions): ResultAsync<string, AcmeFailure> =>
    safeTry(async function* () {
      const kept = nonces.pop();
      if (kept !== undefined) return ok(kept);
      const { newNonce } = yield* directory(options);
      const response = yield* http.send("HEAD", newNonce, undefined, options);
      const failure = failureOf(authority, response, clock.now());
      if (failure !== undefined) return err(failure);
      const nonce = response.header("replay-nonce");
      return nonce === undefined ? err(malformedResponse(authority, "no nonce")) : ok(nonce);
    });
  return {
    post: (url, payload, signer, options) =>
      safeTry(async function* () {
        for (let tries = 1; ; tries++) {
          const nonce = yield* takeNonce(options);
          const body = JSON.stringify(await signPayload(payload, signer, { url, nonce }));
          const response = yield* http.send("POST", url, body, options);
          keepNonce(response);
          const failure = failureOf(authority, response, clock.now());
          if (failure === undefined) return ok(response);
          const isBadNonce = failure.kind === "problem" && failure.type === "badNonce";
          if (!isBadNonce) return err<AcmeResponse, AcmeFailure>(failure);
          // This failure does not depend on the host or its order.
          if (tries === MAX_TRIES)
            return err(unavailable(`The certificate authority ${authority} rejects its own nonces.`, 60, failure));
        }
      }),
  };
};
