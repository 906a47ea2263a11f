/** The account at an authority: RFC 8555, section 7.3. */
import { createHmac, createPrivateKey } from "node:crypto";
import { calculateJwkThumbprint } from "jose";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { CallOptions, Logger } from "../../../core/ports/system.ts";
import { err, errAsync, ok, type Result, ResultAsync, safeTry } from "../../../core/result.ts";
import { newPrivateKey } from "../../shared/domains/x509.ts";
import type { Directory } from "./directory.ts";
import type { AcmeResponse } from "./http.ts";
import { type AcmeProblem, refused } from "./problem.ts";
import { malformedResponse } from "./responses.ts";
import {
  type AcmeFailure,
  publicJwk,
  type RequestDeps,
  type SignedRequests,
  type Signer,
  signPayload,
} from "./signed-requests.ts";

/** An account as the caller stores it. It contains private keys. */
export interface StoredAccount {
  /** The private key, PKCS #8 in PEM. */
  readonly key: string;
  /** The URL that identifies the account; null until the authority has registered it. */
  readonly url: string | null;
  /** The new key of a key change that the authority may or may not have received; null if no change is pending. */
  readonly nextKey: string | null;
  /** The e-mail address that the authority has; absent if it is not known. */
  readonly email?: string | undefined;
}

/** Stores the account of one authority. */
export interface AccountStore {
  read(): ResultAsync<StoredAccount | null, Unavailable>;
  /** Returns once the account is on durable storage: without its key, the account is lost. */
  write(account: StoredAccount): ResultAsync<void, Unavailable>;
}

/** The requirements of an authority for an account. */
export interface AccountSettings {
  /** Whether the operator agrees to the authority's terms of service. */
  readonly acceptTerms: boolean;
  /** An e-mail address for the authority's messages. */
  readonly email?: string | undefined;
  /** The customer account at the authority to which the ACME account is bound: RFC 8555, section 7.3.4. */
  readonly externalAccount?: { readonly keyId: string /** In base64url. */; readonly hmacKey: string } | undefined;
}

interface Registered {
  readonly signer: Signer & { readonly url: string };
  readonly stored: StoredAccount;
}

interface AccountDeps extends RequestDeps {
  readonly requests: SignedRequests;
  readonly store: AccountStore;
  readonly logger: Logger;
}

const signerOf = (key: string, url: string | null): Signer => ({ key: createPrivateKey(key), url });

const isUnknownAccount = (failure: AcmeFailure): boolean =>
  failure.kind === "problem" && failure.type === "accountDoesNotExist";

/** Proves control of the external account with an HMAC over the account's public key. */
const bindingOf = (
  signer: Signer,
  url: string,
  { keyId, hmacKey }: NonNullable<AccountSettings["externalAccount"]>,
) => {
  const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const [header, payload] = [encoded({ alg: "HS256", kid: keyId, url }), encoded(publicJwk(signer.key))];
  const hmac = createHmac("sha256", Buffer.from(hmacKey, "base64url")).update(`${header}.${payload}`);
  return { protected: header, payload, signature: hmac.digest("base64url") };
};

/** Returns the setting that is missing for a registration, as a problem; undefined if none is. */
const missingSetting = (settings: AccountSettings, { meta }: Directory): AcmeProblem | undefined => {
  if (meta.termsOfService !== undefined && !settings.acceptTerms)
    return refused(`The authority requires that you agree to its terms: ${meta.termsOfService}`, "userActionRequired");
  if (meta.externalAccountRequired === true && settings.externalAccount === undefined)
    return refused(
      "The authority requires an external account, but the settings contain none.",
      "externalAccountRequired",
    );
  return undefined;
};

const contactOf = (email: string): readonly string[] => [`mailto:${email}`];

const registration = (
  { email, externalAccount }: AccountSettings,
  { meta, newAccount }: Directory,
  signer: Signer,
): object => ({
  ...(meta.termsOfService === undefined ? {} : { termsOfServiceAgreed: true }),
  ...(email === undefined ? {} : { contact: contactOf(email) }),
  ...(externalAccount === undefined ? {} : { externalAccountBinding: bindingOf(signer, newAccount, externalAccount) }),
});

/** The account at one authority. */
export class Account {
  readonly #authority: string;
  readonly #settings: AccountSettings;
  readonly #deps: AccountDeps;
  /** One registration serves all concurrent orders. If its caller cancels it, the next request registers. */
  #current: Promise<Result<Registered, AcmeFailure>> | undefined;

  constructor(authority: string, settings: AccountSettings, deps: AccountDeps) {
    this.#authority = authority;
    this.#settings = settings;
    this.#deps = deps;
  }

  /** Signs a request with the account's key. Registers the account if the authority does not know it. */
  post(url: string, payload: unknown, options?: CallOptions): ResultAsync<AcmeResponse, AcmeFailure> {
    const { requests } = this.#deps;
    return this.#registered(options).andThen((found) =>
      requests
        .post(url, payload, found.signer, options)
        .orElse((failure) =>
          isUnknownAccount(failure)
            ? this.#registerAgain(found, options).andThen(({ signer }) => requests.post(url, payload, signer, options))
            : errAsync(failure),
        ),
    );
  }

  /** Signs a request about an order. A rate limit does not end the order, so it fails with `unavailable`. */
  postAboutOrder(url: string, payload: unknown, options?: CallOptions): ResultAsync<AcmeResponse, AcmeFailure> {
    return this.post(url, payload, options).mapErr((failure) =>
      failure.kind === "problem" && failure.type === "rateLimited"
        ? unavailable(failure.message, Math.ceil((failure.retryAfterMs ?? 0) / 1000))
        : failure,
    );
  }

  /** Returns the thumbprint of the account's key, which each key authorization contains. */
  thumbprint(options?: CallOptions): ResultAsync<string, AcmeFailure> {
    return this.#registered(options).andThen(({ signer }) =>
      ResultAsync.fromSafePromise(calculateJwkThumbprint(publicJwk(signer.key))),
    );
  }

  /** Replaces the key: RFC 8555, section 7.3.5. */
  changeKey(options?: CallOptions): ResultAsync<void, AcmeFailure> {
    const { requests, directory, store } = this.#deps;
    return safeTry(
      async function* (this: Account) {
        const { stored, signer } = yield* this.#registered(options);
        const { keyChange } = yield* directory(options);
        const changing = { ...stored, nextKey: newPrivateKey() };
        yield* store.write(changing);
        const inner = await signPayload(
          { account: signer.url, oldKey: publicJwk(signer.key) },
          signerOf(changing.nextKey, null),
          { url: keyChange },
        );
        const changed = await requests.post(keyChange, inner, signer, options);
        // The next request determines which key the authority has.
        this.#current = undefined;
        if (changed.isErr()) return err<void, AcmeFailure>(changed.error);
        yield* store.write({ ...changing, key: changing.nextKey, nextKey: null });
        return ok(undefined);
      }.bind(this),
    );
  }

  /**
   * Sends the e-mail address of the settings if the authority may have a different one: RFC 8555, section 7.3.2. Does
   * nothing if there is no account, because the registration contains the address.
   */
  updateEmail(options?: CallOptions): ResultAsync<void, AcmeFailure> {
    const { requests, store } = this.#deps;
    const { email } = this.#settings;
    return safeTry(
      async function* (this: Account) {
        const known = yield* store.read();
        if (email === undefined || known === null || known.url === null || known.email === email) return ok(undefined);
        const found = yield* this.#registered(options);
        const { url } = found.signer;
        const updated = await requests.post(url, { contact: contactOf(email) }, found.signer, options);
        if (updated.isErr() && isUnknownAccount(updated.error)) {
          yield* this.#registerAgain(found, options);
          return ok(undefined);
        }
        if (updated.isErr()) return err<void, AcmeFailure>(updated.error);
        yield* store.write({ ...found.stored, email });
        // The next request reads the stored account.
        this.#current = undefined;
        this.#deps.logger.info("changed the e-mail address at a certificate authority", { authority: this.#authority });
        return ok(undefined);
      }.bind(this),
    );
  }

  #registered(options?: CallOptions): ResultAsync<Registered, AcmeFailure> {
    return this.#current === undefined ? this.#remember(() => this.#load(options)) : new ResultAsync(this.#current);
  }

  /** Registers again, unless a concurrent order has done so. */
  #registerAgain(lost: Registered, options?: CallOptions): ResultAsync<Registered, AcmeFailure> {
    return this.#registered(options).andThen((now) => {
      if (now !== lost) return ok(now);
      const { logger } = this.#deps;
      logger.warn("a certificate authority no longer has the account; registering it again", {
        authority: this.#authority,
        url: lost.signer.url,
      });
      return this.#remember(() => this.#register({ ...lost.stored, url: null }, options));
    });
  }

  #remember(make: () => ResultAsync<Registered, AcmeFailure>): ResultAsync<Registered, AcmeFailure> {
    const started = Promise.resolve(make()).then((result) => {
      if (result.isErr() && this.#current === started) this.#current = undefined;
      return result;
    });
    this.#current = started;
    return new ResultAsync(started);
  }

  #load(options?: CallOptions): ResultAsync<Registered, AcmeFailure> {
    const { store } = this.#deps;
    return safeTry(
      async function* (this: Account) {
        const stored = yield* store.read();
        if (stored !== null) return this.#register(yield* this.#settle(stored, options), options);
        const fresh = { key: newPrivateKey(), url: null, nextKey: null };
        // Store the key first, so that a retry after an interruption finds the same account.
        yield* store.write(fresh);
        return this.#register(fresh, options);
      }.bind(this),
    );
  }

  /** Determines whether an interrupted key change reached the authority. */
  #settle(stored: StoredAccount, options?: CallOptions): ResultAsync<StoredAccount, AcmeFailure> {
    return safeTry(
      async function* (this: Account) {
        if (stored.nextKey === null) return ok<StoredAccount, AcmeFailure>(stored);
        const found = await this.#post(signerOf(stored.nextKey, null), { onlyReturnExisting: true }, options);
        if (found.isErr() && !isUnknownAccount(found.error)) return err(found.error);
        const chosen = { ...stored, key: found.isOk() ? stored.nextKey : stored.key, nextKey: null };
        yield* this.#deps.store.write(chosen);
        return ok(chosen);
      }.bind(this),
    );
  }

  #register(stored: StoredAccount, options?: CallOptions): ResultAsync<Registered, AcmeFailure> {
    const { directory, store, logger } = this.#deps;
    return safeTry(
      async function* (this: Account) {
        const signer = signerOf(stored.key, null);
        if (stored.url !== null) return ok<Registered, AcmeFailure>({ stored, signer: { ...signer, url: stored.url } });
        const found = yield* directory(options);
        const missing = missingSetting(this.#settings, found);
        if (missing !== undefined) return err(missing);
        const { url, isNew } = yield* this.#post(signer, registration(this.#settings, found, signer), options);
        // If the key has an account, the authority returns that account, and ignores the e-mail address.
        const complete = { ...stored, url, email: isNew ? this.#settings.email : undefined };
        yield* store.write(complete);
        logger.info("registered an account at a certificate authority", { authority: this.#authority, url });
        return ok({ stored: complete, signer: { ...signer, url } });
      }.bind(this),
    );
  }

  /** Sends a request about the account of a key. Returns the URL of the account, and whether the request created it. */
  #post(
    signer: Signer,
    payload: object,
    options?: CallOptions,
  ): ResultAsync<{ readonly url: string; readonly isNew: boolean }, AcmeFailure> {
    const { requests, directory } = this.#deps;
    return directory(options)
      .andThen(({ newAccount: url }) => requests.post(url, payload, signer, options))
      .andThen((response) => {
        const url = response.header("location");
        return url === undefined
          ? err(malformedResponse(this.#authority, "an account without a URL"))
          : ok({ url, isNew: response.status === 201 });
      });
  }
}
