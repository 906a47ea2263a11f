/** Orders: RFC 8555, section 7.4. */
import { createPrivateKey } from "node:crypto";
import { z } from "zod";
import type { Unavailable } from "../../../core/errors.ts";
import type { CertificateRequest } from "../../../core/ports/certificate-authority.ts";
import type { CallOptions, Clock } from "../../../core/ports/system.ts";
import { err, errAsync, ok, type ResultAsync, safeTry } from "../../../core/result.ts";
import { certificateRequest } from "../../shared/domains/x509.ts";
import type { Account } from "./account.ts";
import { createAuthorize } from "./authorization.ts";
import { chainProblem } from "./certificate-chain.ts";
import type { Directory } from "./directory.ts";
import type { AcmeResponse } from "./http.ts";
import { createWait, type Wait } from "./polling.ts";
import { type AcmeProblem, problemOf, problemSchema, refused } from "./problem.ts";
import { certificateId } from "./renewal-information.ts";
import { malformedResponse, parseBody } from "./responses.ts";
import type { AcmeFailure } from "./signed-requests.ts";

const orderSchema = z.object({
  status: z.enum(["pending", "ready", "processing", "valid", "invalid"]),
  identifiers: z.array(z.object({ type: z.string(), value: z.string() })),
  authorizations: z.array(z.string()).max(10),
  finalize: z.string(),
  certificate: z.string().optional(),
  error: problemSchema.optional(),
});

type Order = z.infer<typeof orderSchema>;

/** The types with which authorities reject the `replaces` of an order, such as for the certificate of a lost account. */
const replacementRefusals = new Set(["alreadyReplaced", "malformed", "unauthorized"]);

export interface OrderDeps {
  readonly account: Account;
  readonly directory: (options?: CallOptions) => ResultAsync<Directory, Unavailable>;
  readonly clock: Clock;
  /** The profile of all orders: draft-ietf-acme-profiles, section 4. */
  readonly profile: string | undefined;
}

interface Placed {
  readonly url: string;
  readonly response: AcmeResponse;
  readonly order: Order;
}

export const createOrders = (authority: string, { account, directory, clock, profile }: OrderDeps) => {
  const authorize = createAuthorize(authority, account);

  const read = (url: string, options?: CallOptions) => account.post(url, "", options);

  const readOrder = (url: string, options?: CallOptions) =>
    read(url, options).andThen((response) =>
      parseBody(authority, orderSchema, response).map((order) => ({ url, response, order })),
    );

  /** Returns why the authority does not have the profile; undefined if it does. */
  const profileProblem = ({ meta: { profiles = {} } }: Directory): AcmeProblem | undefined => {
    if (profile === undefined || Object.hasOwn(profiles, profile)) return undefined;
    const names = Object.keys(profiles).join(", ");
    return refused(`The authority has no profile '${profile}'. It has: ${names === "" ? "none" : names}.`);
  };

  const postOrder = (url: string, payload: object, options?: CallOptions) =>
    account.post(url, payload, options).andThen((response) => {
      const location = response.header("location");
      if (location === undefined) return err(malformedResponse(authority, "an order without a URL"));
      return parseBody(authority, orderSchema, response).map((order) => ({ url: location, response, order }));
    });

  const place = (request: CertificateRequest, options?: CallOptions) =>
    safeTry(async function* () {
      const found = yield* directory(options);
      const missing = profileProblem(found);
      if (missing !== undefined) return err<Placed, AcmeFailure>(missing);
      const replaces =
        found.renewalInfo === undefined || request.replaces === undefined ? undefined : certificateId(request.replaces);
      const payload = {
        identifiers: [{ type: "dns", value: request.host }],
        ...(profile === undefined ? {} : { profile }),
      };
      const first = postOrder(found.newOrder, { ...payload, ...(replaces === undefined ? {} : { replaces }) }, options);
      const placed = yield* replaces === undefined
        ? first
        : first.orElse((failure) =>
            failure.kind === "problem" && replacementRefusals.has(failure.type)
              ? postOrder(found.newOrder, payload, options)
              : errAsync(failure),
          );
      yield* request.started(placed.url);
      return ok(placed);
    });

  /** Returns an earlier order, unless it failed, expired, or belongs to another authority, account or host. */
  const resume = (request: CertificateRequest, options?: CallOptions): ResultAsync<Placed | undefined, AcmeFailure> =>
    safeTry(async function* () {
      const url = request.order;
      const { newOrder } = yield* directory(options);
      if (url === undefined || URL.parse(url)?.origin !== new URL(newOrder).origin) return ok(undefined);
      const found = await readOrder(url, options);
      if (found.isErr()) {
        const isGone = found.error.kind === "problem" && found.error.type !== "rateLimited";
        return isGone ? ok(undefined) : err<Placed | undefined, AcmeFailure>(found.error);
      }
      const { status, identifiers } = found.value.order;
      const isOther = status === "invalid" || identifiers.some(({ value }) => value !== request.host);
      return ok(isOther ? undefined : found.value);
    });

  const download = (request: CertificateRequest, { certificate }: Order, options?: CallOptions) =>
    safeTry(async function* () {
      if (certificate === undefined)
        return err<string, AcmeFailure>(malformedResponse(authority, "a valid order without a certificate"));
      const { text } = yield* read(certificate, options);
      const problem = chainProblem(text, { ...request, now: clock.now() });
      // The order is useless: the authority would send the same certificate again.
      return problem === undefined
        ? ok(text)
        : err(refused(`The authority issued a certificate that cannot be used: ${problem}`));
    });

  const finalize = ({ finalize: url }: Order, { host, key }: CertificateRequest, options?: CallOptions) => {
    const csr = certificateRequest(host, createPrivateKey(key)).toString("base64url");
    return account.post(url, { csr }, options).map(() => undefined);
  };

  /** Does the next step of an order, or waits until the authority has done its own. */
  const advance = (
    request: CertificateRequest,
    { order, response }: Placed,
    { taken, wait }: { readonly taken: Set<Order["status"]>; readonly wait: Wait },
    options?: CallOptions,
  ): ResultAsync<void, AcmeFailure> => {
    const isNext = !taken.has(order.status);
    taken.add(order.status);
    if (order.status === "pending" && isNext)
      return safeTry(async function* () {
        for (const url of order.authorizations) yield* authorize(request, url, wait, options);
        return ok<void, AcmeFailure>(undefined);
      });
    return order.status === "ready" && isNext ? finalize(order, request, options) : wait(response);
  };

  return (request: CertificateRequest, options?: CallOptions): ResultAsync<string, AcmeFailure> =>
    safeTry(async function* () {
      const progress = { taken: new Set<Order["status"]>(), wait: createWait(authority, clock, options) };
      let placed = (yield* resume(request, options)) ?? (yield* place(request, options));
      for (;;) {
        const { status, error } = placed.order;
        if (status === "valid") return download(request, placed.order, options);
        if (status === "invalid")
          return err(error === undefined ? refused("The authority refused the order.") : problemOf(error));
        yield* advance(request, placed, progress, options);
        placed = yield* readOrder(placed.url, options);
      }
    });
};
