/** Orders: RFC 8555, section 7.4. */
import { createPrivateKey } from "node:crypto";
import { z } from "zod";
import type { Unavailable } from "../../../core/errors.ts";
import type { CertificateRequest } from "../../../core/ports/certificate-authority.ts";
import type { CallOptions, Clock } from "../../../core/ports/system.ts";
import { err, errAsync, ok, type Result, type ResultAsync, safeTry } from "../../../core/result.ts";
import { certificateRequest } from "../../shared/domains/x509.ts";
import type { Account } from "./account.ts";
import { type Authorize, createAuthorize } from "./authorization.ts";
import { chainProblem } from "./certificate-chain.ts";
import type { Directory } from "./directory.ts";
import type { AcmeResponse } from "./http.ts";
import { createWait, type Wait } from "./polling.ts";
import { type AcmeProblem, problemOf, refused, reportedProblem } from "./problem.ts";
import { certificateId } from "./renewal-information.ts";
import { malformedResponse, parseBody } from "./responses.ts";
import type { AcmeFailure } from "./signed-requests.ts";

const orderSchema = z.object({
  status: z.enum(["pending", "ready", "processing", "valid", "invalid"]),
  identifiers: z.array(z.object({ type: z.string(), value: z.string() })),
  authorizations: z.array(z.string()).max(10),
  finalize: z.string(),
  certificate: z.string().optional(),
  error: reportedProblem,
});

type Order = z.infer<typeof orderSchema>;

/**
 * The problem types with which authorities reject the `replaces` of an order, for example because they no longer know
 * the account that ordered the earlier certificate.
 */
const replacementRefusals = new Set(["alreadyReplaced", "malformed", "unauthorized"]);

export interface OrderDeps {
  readonly account: Account;
  readonly directory: (options?: CallOptions) => ResultAsync<Directory, Unavailable>;
  readonly clock: Clock;
  /** The profile of all orders: draft-ietf-acme-profiles, section 4. */
  readonly profile: string | undefined;
}

/** Returns a problem if the authority does not have the profile. */
const profileProblem = (
  profile: string | undefined,
  { meta: { profiles = {} } }: Directory,
): AcmeProblem | undefined => {
  if (profile === undefined || Object.hasOwn(profiles, profile)) return undefined;
  const names = Object.keys(profiles).join(", ");
  return refused(
    `The authority has no profile '${profile}'. It has: ${names === "" ? "none" : names}.`,
    "invalidProfile",
  );
};

interface Placed {
  readonly url: string;
  readonly response: AcmeResponse;
  readonly order: Order;
}

/** The order statuses that Portside has already handled, and how to wait for the next one. */
interface Progress {
  readonly taken: Set<Order["status"]>;
  readonly wait: Wait;
}

/** The orders at one authority. */
export class Orders {
  readonly #authority: string;
  readonly #deps: OrderDeps;
  readonly #authorize: Authorize;

  constructor(authority: string, deps: OrderDeps) {
    this.#authority = authority;
    this.#deps = deps;
    this.#authorize = createAuthorize(authority, deps.account);
  }

  /** Returns the chain of a new certificate in PEM. Continues the earlier order if possible. */
  order(request: CertificateRequest, options?: CallOptions): ResultAsync<string, AcmeFailure> {
    return safeTry(
      async function* (this: Orders) {
        const wait = createWait(this.#authority, this.#deps.clock, options);
        const progress: Progress = { taken: new Set(), wait };
        let placed = (yield* this.#resume(request, options)) ?? (yield* this.#place(request, options));
        for (;;) {
          const { status, error } = placed.order;
          if (status === "valid") return this.#download(request, placed.order, options);
          if (status === "invalid")
            return err(error === undefined ? refused("The authority refused the order.") : problemOf(error));
          yield* this.#advance(request, placed, progress, options);
          placed = yield* this.#read(placed.url, options);
        }
      }.bind(this),
    );
  }

  /** Returns an earlier order, unless it failed, expired, or belongs to another authority, account or host. */
  #resume(request: CertificateRequest, options?: CallOptions): ResultAsync<Placed | undefined, AcmeFailure> {
    return safeTry(
      async function* (this: Orders) {
        const url = request.order;
        const { newOrder } = yield* this.#deps.directory(options);
        if (url === undefined || URL.parse(url)?.origin !== new URL(newOrder).origin) return ok(undefined);
        const found = await this.#read(url, options);
        if (found.isErr())
          return found.error.kind === "problem" ? ok(undefined) : err<Placed | undefined, AcmeFailure>(found.error);
        const { status, identifiers } = found.value.order;
        const isOther = status === "invalid" || identifiers.some(({ value }) => value !== request.host);
        return ok(isOther ? undefined : found.value);
      }.bind(this),
    );
  }

  #place(request: CertificateRequest, options?: CallOptions): ResultAsync<Placed, AcmeFailure> {
    const { directory, profile } = this.#deps;
    return safeTry(
      async function* (this: Orders) {
        const found = yield* directory(options);
        const missing = profileProblem(profile, found);
        if (missing !== undefined) return err<Placed, AcmeFailure>(missing);
        const replaces =
          found.renewalInfo === undefined || request.replaces === undefined
            ? undefined
            : certificateId(request.replaces);
        const payload = {
          identifiers: [{ type: "dns", value: request.host }],
          ...(profile === undefined ? {} : { profile }),
        };
        const first = this.#post(found.newOrder, replaces === undefined ? payload : { ...payload, replaces }, options);
        const placed = yield* first.orElse((failure) =>
          replaces !== undefined && failure.kind === "problem" && replacementRefusals.has(failure.type)
            ? this.#post(found.newOrder, payload, options)
            : errAsync(failure),
        );
        yield* request.started(placed.url);
        return ok(placed);
      }.bind(this),
    );
  }

  #post(url: string, payload: object, options?: CallOptions): ResultAsync<Placed, AcmeFailure> {
    return this.#deps.account.post(url, payload, options).andThen((response) => {
      const location = response.header("location");
      if (location === undefined) return err(malformedResponse(this.#authority, "an order without a URL"));
      return this.#parse(location, response);
    });
  }

  #read(url: string, options?: CallOptions): ResultAsync<Placed, AcmeFailure> {
    return this.#deps.account.postAboutOrder(url, "", options).andThen((response) => this.#parse(url, response));
  }

  #parse(url: string, response: AcmeResponse): Result<Placed, AcmeFailure> {
    return parseBody(this.#authority, orderSchema, response).map((order) => ({ url, response, order }));
  }

  /** Does the next step of an order, or waits until the authority has completed its own step. */
  #advance(
    request: CertificateRequest,
    { order, response }: Placed,
    { taken, wait }: Progress,
    options?: CallOptions,
  ): ResultAsync<void, AcmeFailure> {
    const isNext = !taken.has(order.status);
    taken.add(order.status);
    if (order.status === "pending" && isNext)
      return safeTry(
        async function* (this: Orders) {
          for (const url of order.authorizations) yield* this.#authorize(request, url, wait, options);
          return ok<void, AcmeFailure>(undefined);
        }.bind(this),
      );
    if (order.status !== "ready" || !isNext) return wait(response);
    const csr = certificateRequest(request.host, createPrivateKey(request.key)).toString("base64url");
    return this.#deps.account
      .postAboutOrder(order.finalize, { csr }, options)
      .map(() => undefined)
      .orElse((failure) => {
        if (failure.kind !== "problem" || failure.type !== "orderNotReady") return errAsync(failure);
        // One of the authority's servers may not know the new status yet. Section 7.4: read the order again.
        taken.delete("ready");
        return wait(response);
      });
  }

  #download(
    request: CertificateRequest,
    { certificate }: Order,
    options?: CallOptions,
  ): ResultAsync<string, AcmeFailure> {
    if (certificate === undefined)
      return errAsync(malformedResponse(this.#authority, "a valid order without a certificate"));
    return this.#deps.account.postAboutOrder(certificate, "", options).andThen(({ text }) => {
      const problem = chainProblem(text, { ...request, now: this.#deps.clock.now() });
      // The order is useless: the authority would send the same certificate again.
      return problem === undefined
        ? ok(text)
        : err(refused(`The authority issued a certificate that cannot be used: ${problem}`));
    });
  }
}
