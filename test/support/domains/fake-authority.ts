/** A certificate authority in this process, with real certificates and failures that a test sets. */
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { signCertificate } from "../../../adapters/shared/domains/x509.ts";
import type { Period } from "../../../core/domain/domains/renewal.ts";
import { type Instant, plusMillis } from "../../../core/domain/wire/instant.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type {
  CertificateAuthority,
  CertificateRequest,
  Challenge,
  OrderFailed,
} from "../../../core/ports/certificate-authority.ts";
import type { Clock } from "../../../core/ports/system.ts";
import { err, errAsync, ok, okAsync, type Result, ResultAsync } from "../../../core/result.ts";

const DAY_MS = 86_400_000;

export interface FakeAuthority extends CertificateAuthority {
  /** The orders that the authority accepted, by URL. */
  readonly orders: string[];
  readonly requests: CertificateRequest[];
  /** Returns the failure of a request, before the authority accepts the order. */
  failure: (request: CertificateRequest) => OrderFailed | Unavailable | undefined;
  /** Called after the challenge is published. The order fails with the problem that it returns. */
  validate: (challenge: Challenge) => Promise<Unavailable | undefined>;
  lifetimeMs: number;
  /** The advice for the current certificate. */
  window: Period | null;
}

export const createFakeAuthority = (clock: Pick<Clock, "now">, name = "ca.test"): FakeAuthority => {
  const { privateKey: issuerKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const issue = async (request: CertificateRequest): Promise<string> => {
    const from = clock.now();
    const until = plusMillis(from, authority.lifetimeMs);
    const publicKey = createPublicKey(request.key);
    authority.window = null;
    return signCertificate({ issuer: name, issuerKey, publicKey, hosts: [request.host], from, until });
  };
  const authority: FakeAuthority = {
    name,
    orders: [],
    requests: [],
    failure: () => undefined,
    validate: async () => undefined,
    window: null,
    lifetimeMs: 60 * DAY_MS,
    order: (request) => {
      authority.requests.push(request);
      const failure = authority.failure(request);
      if (failure !== undefined) return errAsync(failure);
      const url = request.order ?? `https://${name}/order/${authority.orders.length}`;
      if (request.order === undefined) authority.orders.push(url);
      const { host, responder } = request;
      const challenge: Challenge = { type: "http-01", host, token: `token-${host}`, keyAuthorization: `key-${host}` };
      return request
        .started(url)
        .andThen(() => responder.publish(challenge))
        .andThen(() => ResultAsync.fromSafePromise(authority.validate(challenge)))
        .andThen((problem) =>
          responder
            .withdraw(challenge)
            .andThen((): Result<void, Unavailable> => (problem === undefined ? ok(undefined) : err(problem))),
        )
        .andThen(() => new ResultAsync(issue(request).then((chain) => ok(chain))));
    },
    advice: () => {
      const { window } = authority;
      const askAgainAt: Instant = plusMillis(clock.now(), DAY_MS / 4);
      return okAsync(window === null ? null : { window, askAgainAt });
    },
  };
  return authority;
};
