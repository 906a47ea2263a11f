/** A simulated certificate authority. It validates hosts by a callback, and signs certificates with its own root. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes } from "node:crypto";
import type { Period } from "../../../core/domain/domains/renewal.ts";
import { plusMillis } from "../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type {
  CertificateAuthority,
  CertificateRequest,
  Challenge,
  OrderFailed,
} from "../../../core/ports/certificate-authority.ts";
import type { CallOptions, Clock } from "../../../core/ports/system.ts";
import { err, ok, okAsync, type Result, ResultAsync, safeTry } from "../../../core/result.ts";
import { signCertificate } from "../../shared/domains/x509.ts";

const NAME = "ca.memory.invalid";
const DAY_MS = 86_400_000;
const ASK_AGAIN_MS = 6 * 3_600_000;

export interface SimulatedAuthorityDeps {
  readonly clock: Clock;
  /** Returns the key authorization that the host presents for a challenge; null if it does not answer. */
  readonly ask: (challenge: Omit<Challenge, "keyAuthorization">) => Promise<string | null>;
  /** The validity of a certificate. Defaults to 90 days. */
  readonly lifetimeMs?: number;
}

/** A certificate that the authority has signed. */
export interface SimulatedCertificate {
  readonly host: string;
  /** The chain in PEM. */
  readonly chain: string;
  /** The certificate that it replaces, in PEM. */
  readonly replaces: string | undefined;
}

/** Why the authority refuses new orders. */
export interface SimulatedRefusal {
  readonly message: string;
  readonly retryAfterMs: number | null;
  /**
   * Whether another authority may issue the certificate. Always true if there is a delay. Defaults to false otherwise.
   */
  readonly othersMayIssue?: boolean;
}

/** A certificate authority with controls for failures. */
export interface SimulatedAuthority extends CertificateAuthority {
  /** The certificate that clients must trust, in PEM. */
  readonly root: string;
  /** The signed certificates, oldest first. */
  readonly issued: readonly SimulatedCertificate[];
  /** The number of orders that the authority has accepted, including failed ones. Authorities limit this number. */
  readonly orders: number;
  /** Sets whether the authority responds. It responds by default. */
  respond(isResponding: boolean): void;
  /** Refuses new orders for a reason; undefined to accept them, as by default. */
  refuse(failure: SimulatedRefusal | undefined): void;
  /** Sets the window that the authority suggests for all renewals; null for none, as by default. */
  suggest(window: Period | null): void;
}

interface Order {
  readonly id: string;
  readonly host: string;
  status: "pending" | "valid" | "invalid";
  chain?: string;
}

const failed = (message: string, retryAfterMs: number | null = null, othersMayIssue = false): OrderFailed => ({
  kind: "order_failed",
  message,
  retryAfterMs,
  othersMayIssue: othersMayIssue || retryAfterMs !== null,
});

/** Creates an authority with a new root. */
export const createSimulatedAuthority = (deps: SimulatedAuthorityDeps): SimulatedAuthority => {
  const { clock, ask, lifetimeMs = 90 * DAY_MS } = deps;
  const authorityKey = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const signing = { issuer: "Portside simulated root", issuerKey: authorityKey.privateKey };
  const root = signCertificate({
    ...signing,
    subject: signing.issuer,
    publicKey: authorityKey.publicKey,
    hosts: [],
    from: plusMillis(clock.now(), -DAY_MS),
    until: plusMillis(clock.now(), 7300 * DAY_MS),
  });
  const orders = new Map<string, Order>();
  const issued: SimulatedCertificate[] = [];
  let isResponding = true;
  let refusal: OrderFailed | undefined;
  let suggested: Period | null = null;

  const available = (options?: CallOptions): Result<void, Unavailable> =>
    isResponding && options?.signal?.aborted !== true
      ? ok(undefined)
      : err(unavailable(`The certificate authority ${NAME} did not respond.`));

  const place = ({ host }: CertificateRequest): Result<Order, OrderFailed> => {
    if (refusal !== undefined) return err(refusal);
    const order: Order = { id: `https://${NAME}/order/${orders.size + 1}`, host, status: "pending" };
    orders.set(order.id, order);
    return ok(order);
  };

  const resume = ({ host, order: id = "" }: CertificateRequest): Order | undefined => {
    const found = orders.get(id);
    return found?.host === host && found.status !== "invalid" ? found : undefined;
  };

  const validate = (
    { host, responder }: CertificateRequest,
    order: Order,
    options?: CallOptions,
  ): ResultAsync<void, OrderFailed | Unavailable> =>
    safeTry(async function* () {
      const [type] = responder.types;
      if (type === undefined)
        return err<void, OrderFailed | Unavailable>(failed("The responder supports no challenge."));
      const token = randomBytes(16).toString("base64url");
      const keyAuthorization = `${token}.${randomBytes(32).toString("base64url")}`;
      const challenge: Challenge = { type, host, token, keyAuthorization };
      const result = await responder
        .publish(challenge)
        .andThen(() => available(options))
        .andThen(() => ResultAsync.fromSafePromise(ask({ type, host, token })));
      const withdrawn = await responder.withdraw(challenge);
      const answer = yield* result;
      yield* withdrawn;
      if (answer === keyAuthorization) return ok(undefined);
      order.status = "invalid";
      const problem = answer === null ? "could not connect to the host" : "received a wrong response from the host";
      return err(failed(`The authority ${problem}: '${host}'.`));
    });

  const sign = ({ host, key, replaces }: CertificateRequest): string => {
    const leaf = signCertificate({
      ...signing,
      publicKey: createPublicKey(createPrivateKey(key)),
      hosts: [host],
      from: clock.now(),
      until: plusMillis(clock.now(), lifetimeMs),
    });
    const chain = leaf + root;
    issued.push({ host, chain, replaces });
    return chain;
  };

  return {
    name: NAME,
    root,
    issued,
    get orders() {
      return orders.size;
    },
    order: (request, options) =>
      safeTry(async function* () {
        yield* available(options);
        const earlier = resume(request);
        const order = earlier ?? (yield* place(request));
        if (earlier === undefined) yield* request.started(order.id);
        if (order.status === "valid" && order.chain !== undefined) return ok(order.chain);
        yield* validate(request, order, options);
        order.chain = sign(request);
        order.status = "valid";
        return ok<string, OrderFailed | Unavailable>(order.chain);
      }),
    advice: (_certificate, options) =>
      available(options).asyncAndThen(() =>
        okAsync(
          suggested === null
            ? null
            : { window: suggested, askAgainAt: plusMillis(clock.now(), Math.min(ASK_AGAIN_MS, lifetimeMs / 4)) },
        ),
      ),
    respond: (responds) => {
      isResponding = responds;
    },
    refuse: (failure) => {
      refusal =
        failure === undefined ? undefined : failed(failure.message, failure.retryAfterMs, failure.othersMayIssue);
    },
    suggest: (window) => {
      suggested = window;
    },
  };
};
