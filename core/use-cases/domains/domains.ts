/** Adds, lists, checks and removes the custom domains of an account. */
import {
  type AttemptState,
  afterOwnerCheck,
  forNewOwner,
  type HostCertificate,
  withCertificate,
} from "../../domain/domains/certificate.ts";
import { addressRecords, ownershipName, ownershipRecord, platformDomainsOf } from "../../domain/domains/dns-records.ts";
import {
  type CustomDomain,
  type DomainRecord,
  type DomainRow,
  deploymentQuotaProblem,
  domainLengthProblem,
  domainQuotaProblem,
  domainRowOf,
  newDomain,
  type StoredDomain,
} from "../../domain/domains/domain.ts";
import { afterCheck, mapTo, mayTakeOver } from "../../domain/domains/domain-check.ts";
import { type DomainName, domainProblem } from "../../domain/domains/domain-name.ts";
import { withManagedCertificate } from "../../domain/domains/managed-certificate.ts";
import type { Capabilities, Feature } from "../../domain/wire/capabilities.ts";
import { timestampOf } from "../../domain/wire/instant.ts";
import { issue } from "../../domain/wire/issue.ts";
import type { DeploymentName } from "../../domain/wire/names.ts";
import { addDomainFields, domainFields } from "../../domain/wire/requests.ts";
import { type ControlPlaneError, conflict, internal, invalidInput, notFound } from "../../errors.ts";
import type { DomainPorts } from "../../ports/domain-store.ts";
import type { CallOptions } from "../../ports/system.ts";
import { err, ok, okAsync, type Result, type ResultAsync, safeTry } from "../../result.ts";
import { ownService } from "../deploy/find-name.ts";
import type { Context } from "../pipeline/context.ts";
import { accountUseCase, type Caller, useCase } from "../pipeline/use-case.ts";
import { checkRecords, nullIfSilent, targetOf } from "./check-records.ts";

type Outcome<T> = ResultAsync<T, ControlPlaneError>;

const customDomains = ({ domains }: Capabilities): Feature => domains;

const portsOf = ({ context }: Caller): Result<DomainPorts, ControlPlaneError> => {
  const { domains } = context.ports.provider;
  return domains === undefined
    ? err(internal("The provider declares the capability `domains`, but has no ports for domains."))
    : ok(domains);
};

/** Returns the records that prove ownership and send requests to the platform. */
const recordsOf = (ports: DomainPorts, stored: CustomDomain, options: CallOptions): Outcome<readonly DomainRecord[]> =>
  safeTry(async function* () {
    const { domain, owner } = stored;
    const isApex = ports.registeredDomain(domain) === domain;
    const proof = yield* await ports.store.proof(owner, domain, options);
    const target = yield* await targetOf(ports, stored, options);
    return ok([ownershipRecord(domain, proof), ...addressRecords(domain, isApex, target)]);
  });

/** @param step how to get the state of a managed certificate: `advance` after a change or a check */
const rowOf = (
  caller: Caller,
  ports: DomainPorts,
  stored: CustomDomain,
  step: "find" | "advance" = "find",
): Outcome<DomainRow> =>
  safeTry(async function* () {
    const { domain } = stored;
    const records = yield* await recordsOf(ports, stored, caller.options);
    const now = caller.context.ports.clock.now();
    if (ports.managed !== undefined) {
      const managed = yield* await ports.managed[step](stored, caller.options);
      const seen = { ...stored, ...withManagedCertificate(stored, managed, now) };
      return ok(domainRowOf(seen, [...records, ...managed.records], managed.notAfter));
    }
    if (ports.certificates === undefined) return ok(domainRowOf(stored, records, null));
    const { store, authorities } = ports.certificates;
    const certificate = yield* await store.find(domain);
    const names = authorities.map(({ name }) => name);
    const view = withCertificate(stored, certificate, names, now);
    const notAfter = certificate.life === null ? null : timestampOf(certificate.life.end);
    return ok(domainRowOf({ ...stored, ...view }, records, notAfter));
  });

/** Returns the account's domain. Does not reveal whether another account has it. */
const findOwn = (caller: Caller, { store }: DomainPorts, domain: DomainName): Outcome<StoredDomain> =>
  store
    .find(domain, caller.options)
    .andThen((found) =>
      found === null || found.owner !== caller.principal.account
        ? err(notFound(`Your account has no domain '${domain}'. Run 'portside domain list' to list your domains.`))
        : ok(found),
    );

/** The maximum number of times to retry a change of a domain after a concurrent change. */
const MAX_RETRIES = 5;

/**
 * Changes the account's domain. After a concurrent change, such as by a check, reads the domain and calls `change`
 * again. Fails with `not_found` if the account no longer has the domain.
 */
const changeOwn = <T>(
  caller: Caller,
  ports: DomainPorts,
  domain: DomainName,
  change: (stored: StoredDomain) => Outcome<T>,
): Outcome<T> =>
  safeTry(async function* () {
    for (let retries = 0; ; retries++) {
      const changed = await change(yield* await findOwn(caller, ports, domain));
      if (changed.isOk() || changed.error.kind !== "conflict" || retries === MAX_RETRIES) return changed;
    }
  });

/** Changes the recorded failures of the domain's certificate. Does nothing if no attempt failed. */
const changeFailures = (
  { certificates }: DomainPorts,
  domain: DomainName,
  change: (certificate: HostCertificate) => AttemptState,
): Outcome<void> =>
  certificates === undefined
    ? okAsync(undefined)
    : certificates.store
        .changeAttempt(domain, (found) => (found.reason === null ? null : change(found)))
        .map(() => undefined);

/** Fails if another domain would exceed the deployment's limit, or a new one the account's quota. */
const checkQuotas = (
  { context, principal, options }: Caller,
  { store, limits }: DomainPorts,
  name: DeploymentName,
  isNew: boolean,
): Outcome<void> => {
  if (limits === undefined && !isNew) return okAsync(undefined);
  return store.list(principal.account, options).andThen((own) => {
    const problem =
      (limits === undefined ? undefined : deploymentQuotaProblem(own, name, limits)) ??
      (isNew ? domainQuotaProblem(own.length + 1, context.settings.accountLimits.domains) : undefined);
    return problem === undefined ? ok(undefined) : err(invalidInput([issue(["domain"], problem, "quota_exceeded")]));
  });
};

/** Fails with `conflict` unless DNS shows that the account, and not the current owner, controls the domain. */
const checkTakeOver = (
  { principal, options }: Caller,
  { store, dns }: DomainPorts,
  stored: StoredDomain,
): Outcome<void> =>
  safeTry(async function* () {
    const { domain, owner } = stored;
    const next = yield* await store.proof(principal.account, domain, options);
    const present = yield* await store.proof(owner, domain, options);
    // Treat no response as no proof. The error then tells the caller which record to create.
    const lookup = dns.resolve(ownershipName(domain), "TXT", { ...options, account: principal.account });
    const found = (yield* await nullIfSilent(lookup)) ?? [];
    return mayTakeOver(found, { present, next })
      ? ok(undefined)
      : err(
          conflict(
            `Another account has added '${domain}'. If you control the domain, replace the TXT records of '${ownershipName(domain)}' with '${next}', and add the domain again.`,
          ),
        );
  });

const add = (caller: Caller, domain: DomainName, name: DeploymentName): Outcome<DomainRow> =>
  safeTry(async function* () {
    const ports = yield* portsOf(caller);
    const { context, principal, options } = caller;
    const service = yield* await ownService(caller, name);
    const stored = yield* await ports.store.find(domain, options);
    const isOwn = stored?.owner === principal.account;
    if (!isOwn || stored.name !== service.name) yield* await checkQuotas(caller, ports, service.name, !isOwn);
    if (isOwn) {
      const mapped = yield* await changeOwn(caller, ports, domain, (own) =>
        own.name === service.name ? okAsync(own) : ports.store.write(mapTo(own, service.name), own, options),
      );
      return rowOf(caller, ports, mapped, "advance");
    }
    if (stored !== null) yield* await checkTakeOver(caller, ports, stored);
    const created = newDomain(domain, principal.account, service.name, timestampOf(context.ports.clock.now()));
    const written = yield* await ports.store.write(created, stored ?? "absent", options);
    yield* await changeFailures(ports, domain, forNewOwner);
    return rowOf(caller, ports, written, "advance");
  });

export const addDomain = useCase({
  fields: addDomainFields,
  check: ({ domain }, { ports: { provider } }: Context) => {
    if (domain === undefined) return err([]);
    if (provider.domains === undefined) return ok({});
    const { target, registeredDomain, limits } = provider.domains;
    const problem =
      domainProblem(domain, platformDomainsOf(target), registeredDomain) ??
      (limits === undefined ? undefined : domainLengthProblem(domain, limits));
    return problem === undefined ? ok({}) : err([issue(["domain"], problem, "value_error")]);
  },
  requires: customDomains,
  // One change per account at a time. Concurrent requests therefore cannot exceed the quota, and the deletion of a
  // deployment cannot miss a new domain.
  run: (call) => call.context.domains.run(call.principal.account, () => add(call, call.input.domain, call.input.name)),
});

/** Lists the account's domains, sorted by domain. */
export const listDomains = accountUseCase({
  requires: customDomains,
  run: (caller) =>
    safeTry(async function* () {
      const ports = yield* portsOf(caller);
      const stored = yield* await ports.store.list(caller.principal.account, caller.options);
      const rows: DomainRow[] = [];
      for (const one of stored) rows.push(yield* await rowOf(caller, ports, one));
      return ok<readonly DomainRow[]>(rows);
    }),
});

export const checkDomain = useCase({
  fields: domainFields,
  requires: customDomains,
  run: (call) =>
    safeTry(async function* () {
      const { context, input, options, principal } = call;
      const ports = yield* portsOf(call);
      const stored = yield* await findOwn(call, ports, input.domain);
      const beganAt = timestampOf(context.ports.clock.now());
      const outcome = yield* await checkRecords(ports, stored, { ...options, account: principal.account });
      const checked = yield* await changeOwn(call, ports, stored.domain, (own) =>
        ports.store.write(afterCheck(own, outcome, beganAt), own, options),
      );
      if (outcome.kind === "found" && outcome.problems.length === 0)
        yield* await changeFailures(ports, stored.domain, (one) => afterOwnerCheck(one, stored.status !== "active"));
      return rowOf(call, ports, checked, "advance");
    }),
});

export const removeDomain = useCase({
  fields: domainFields,
  requires: customDomains,
  run: (call) =>
    safeTry(async function* () {
      const { input, options } = call;
      const ports = yield* portsOf(call);
      yield* await changeOwn(call, ports, input.domain, (own) => ports.store.remove(own.domain, own, options));
      return ok({ detail: `'${input.domain}' was removed. You can delete its DNS records.` });
    }),
});

/** Returns the number of the account's domains. Returns 0 if the provider does not support domains. */
export const countDomains = ({ context, principal, options }: Caller): Outcome<number> => {
  const { domains } = context.ports.provider;
  return domains === undefined ? okAsync(0) : domains.store.list(principal.account, options).map((own) => own.length);
};

/**
 * Removes the domains of a deployment, because another account may later use its name. Then calls `remove`, which
 * deletes the deployment. If that fails, stores the domains again.
 */
export const detachDomains = (caller: Caller, name: DeploymentName, remove: () => Outcome<void>): Outcome<void> =>
  safeTry(async function* () {
    const { context, principal, options } = caller;
    const { domains } = context.ports.provider;
    if (domains === undefined) return remove();
    const own = yield* await domains.store.list(principal.account, options);
    const detached: CustomDomain[] = [];
    const deleted = await safeTry<void, ControlPlaneError>(async function* () {
      for (const { domain } of own.filter((stored) => stored.name === name)) {
        let removing: CustomDomain | undefined;
        const removed = await changeOwn(caller, domains, domain, (stored) => {
          removing = stored;
          return domains.store.remove(domain, stored, options);
        });
        // A removal that fails may have taken effect, except after a conflict.
        if (removing !== undefined && (removed.isOk() || removed.error.kind === "unavailable")) detached.push(removing);
        // If it is not found, the domain was removed in the meantime, or another account has taken it over.
        if (removed.isErr() && removed.error.kind !== "not_found") return err(removed.error);
      }
      return remove();
    });
    if (deleted.isOk()) return ok(undefined);
    for (const domain of detached) {
      // The request may have been cancelled, so the signal of the caller does not apply.
      const restored = await domains.store.write(domain, "absent");
      // A conflict means that the domain exists.
      if (restored.isErr() && restored.error.kind !== "conflict")
        context.ports.logger.warn("a domain was lost, because the deletion of its deployment failed", {
          domain: domain.domain,
          name,
          cause: restored.error,
        });
    }
    return err(deleted.error);
  });
