/** A certificate authority that implements ACME: RFC 8555. */
import { isSafeOrigin } from "../../../core/domain/accounts/safe-origin.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { CertificateAuthority, OrderFailed } from "../../../core/ports/certificate-authority.ts";
import type { CallOptions, Clock, Logger } from "../../../core/ports/system.ts";
import { err, ok, type ResultAsync, safeTry } from "../../../core/result.ts";
import { Account, type AccountSettings, type AccountStore } from "./account.ts";
import { authorityName } from "./authority-name.ts";
import { directoryReader } from "./directory.ts";
import { createAcmeHttp, retryAfterOf } from "./http.ts";
import { Orders } from "./order.ts";
import { failureOf, orderFailed } from "./problem.ts";
import { adviceOf, certificateId, renewalInfoSchema } from "./renewal-information.ts";
import { parseBody } from "./responses.ts";
import { type AcmeFailure, createSignedRequests } from "./signed-requests.ts";

export interface AcmeSettings extends AccountSettings {
  /** The URL of the directory. Must use HTTPS, except for a loopback address. */
  readonly directory: string;
  /** The CA certificates to trust for connections to the authority instead of the default ones, in PEM. */
  readonly ca?: string | undefined;
  /** The profile of the certificates, such as `shortlived`; the authority's default if it is undefined. */
  readonly profile?: string | undefined;
}

export interface AcmeDeps {
  readonly accounts: AccountStore;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface AcmeAuthority extends CertificateAuthority {
  /**
   * Replaces the key of the account, for example after a leak. If the change is interrupted, the next request finds out
   * which key the authority has.
   */
  changeKey(options?: CallOptions): ResultAsync<void, OrderFailed | Unavailable>;
  /** Sends the e-mail address of the settings, unless the authority has it or there is no account. */
  updateEmail(options?: CallOptions): ResultAsync<void, OrderFailed | Unavailable>;
  /** Closes the connections. */
  close(): Promise<void>;
}

const ofPort = <T>(result: ResultAsync<T, AcmeFailure>): ResultAsync<T, OrderFailed | Unavailable> =>
  result.mapErr((failure) => (failure.kind === "problem" ? orderFailed(failure) : failure));

/** Throws if the URL of the directory does not use HTTPS. */
export const createAcmeAuthority = (settings: AcmeSettings, { accounts, clock, logger }: AcmeDeps): AcmeAuthority => {
  if (!isSafeOrigin(settings.directory))
    throw new Error(`The directory '${settings.directory}' is not an HTTPS URL. Pass the URL of an ACME directory.`);
  const name = authorityName(settings.directory);
  const http = createAcmeHttp(name, settings.ca);
  const directory = directoryReader(name, settings.directory, { http, clock });
  const base = { http, directory, clock };
  const requests = createSignedRequests(name, base);
  const account = new Account(name, settings, { ...base, requests, store: accounts, logger });
  const orders = new Orders(name, { account, directory, clock, profile: settings.profile });
  return {
    name,
    order: (request, options) => ofPort(orders.order(request, options)),
    advice: (certificate, options) =>
      safeTry(async function* () {
        const { renewalInfo } = yield* directory(options);
        const id = certificateId(certificate);
        if (renewalInfo === undefined || id === undefined) return ok(null);
        const response = yield* http.send("GET", `${renewalInfo.replace(/\/$/, "")}/${id}`, undefined, options);
        const failure = failureOf(name, response, clock.now());
        if (failure?.kind === "unavailable") return err(failure);
        if (failure?.type === "rateLimited")
          return err(unavailable(failure.message, Math.ceil((failure.retryAfterMs ?? 3_600_000) / 1000)));
        // The authority has no advice, for example because it does not know the certificate.
        if (failure !== undefined) return ok(null);
        const found = yield* parseBody(name, renewalInfoSchema, response);
        return ok(adviceOf(found, retryAfterOf(response, clock.now()), clock.now()));
      }),
    changeKey: (options) => ofPort(account.changeKey(options)),
    updateEmail: (options) => ofPort(account.updateEmail(options)),
    close: () => http.close(),
  };
};
