/** Sets, lists and deletes secrets. The templates of the services are the only record of their uses. */
import type { Service } from "../../domain/deploy/service-template.ts";
import {
  type SecretRow,
  type SecretVersion,
  type SetSecretResponse,
  type StoredSecret,
  secretQuotaProblem,
} from "../../domain/secrets/secret.ts";
import { prunableVersions, secretDeletionProblem, secretRowOf, usesOf, versionsIn } from "../../domain/secrets/uses.ts";
import type { Capabilities, Feature } from "../../domain/wire/capabilities.ts";
import { issue } from "../../domain/wire/issue.ts";
import type { SecretName } from "../../domain/wire/names.ts";
import { deleteSecretFields, setSecretFields } from "../../domain/wire/requests.ts";
import { type ControlPlaneError, conflict, internal, invalidInput, notFound } from "../../errors.ts";
import type { SecretStore } from "../../ports/secret-store.ts";
import { err, ok, okAsync, type Result, safeTry } from "../../result.ts";
import { accountUseCase, type Caller, useCase } from "../pipeline/use-case.ts";
import { redeployBehind } from "./redeploy-behind.ts";

const secretStore = ({ secrets }: Capabilities): Feature => secrets;

const storeOf = ({ context }: Caller): Result<SecretStore, ControlPlaneError> => {
  const { secrets } = context.ports.provider;
  return secrets === undefined
    ? err(internal("The provider declares the capability `secrets`, but has no store."))
    : ok(secrets);
};

/** Returns the versions of a secret that are in use: by deployments, or by releases whose image still exists. */
const versionsInUse = (caller: Caller, name: SecretName, services: readonly Service[]) =>
  safeTry<ReadonlySet<number>, ControlPlaneError>(async function* () {
    const { releases } = caller.context.ports.provider.services;
    const versions = usesOf(name, services).map(({ version }) => version);
    for (const service of services) {
      const recorded = yield* await (releases?.(service, caller.options) ?? okAsync([]));
      const kept = recorded.filter(({ hasImage }) => hasImage);
      versions.push(...kept.flatMap(({ template }) => versionsIn(template, name)));
    }
    return ok(new Set(versions));
  });

/** Deletes the versions that are no longer needed. */
const prune = (caller: Caller, store: SecretStore, name: SecretName) =>
  safeTry<void, ControlPlaneError>(async function* () {
    const { account } = caller.principal;
    const secret = (yield* await store.list(account, caller.options)).find((one) => one.name === name);
    // Reads the releases only if there are versions to delete.
    if (secret === undefined || prunableVersions(secret, new Set()).length === 0) return ok(undefined);
    const services = yield* await caller.context.ports.provider.services.list(account, caller.options);
    const used = yield* await versionsInUse(caller, name, services);
    for (const version of prunableVersions(secret, used)) yield* await store.delete(account, name, version);
    return ok(undefined);
  });

/** Stores the value, unless the account would have too many secrets. */
const store = (caller: Caller, name: SecretName, value: string) =>
  safeTry<SecretVersion, ControlPlaneError>(async function* () {
    const secrets = yield* storeOf(caller);
    const { account } = caller.principal;
    const stored = yield* await secrets.list(account, caller.options);
    const isNew = !stored.some((one) => one.name === name);
    const problem = isNew ? secretQuotaProblem(stored.length + 1) : undefined;
    if (problem !== undefined) return err(invalidInput([issue(["name"], problem, "quota_exceeded")]));
    const version = yield* await secrets.set(account, name, value, caller.options);
    const pruned = await prune(caller, secrets, name);
    // The next change prunes again.
    if (pruned.isErr())
      caller.context.ports.logger.warn("could not delete old versions of a secret", {
        secret: name,
        error: pruned.error,
      });
    return ok(version);
  });

export const setSecret = useCase({
  fields: setSecretFields,
  requires: secretStore,
  run: (call) =>
    safeTry(async function* () {
      const { context, principal, input } = call;
      const { name, value, redeploy } = input;
      const { version, digest } = yield* await context.secrets.run(principal.account, () => store(call, name, value));
      const pending = { owner: principal.account, name, version };
      const deploys = redeploy ? yield* await redeployBehind(call, yield* storeOf(call), pending) : [];
      return ok<SetSecretResponse>({ name, version, digest, deploys });
    }),
});

/** Lists the account's secrets with the deployments that use them, sorted by name. */
export const listSecrets = accountUseCase({
  requires: secretStore,
  run: (call) =>
    safeTry(async function* () {
      const { context, principal, options } = call;
      const secrets = yield* storeOf(call);
      const stored = yield* await secrets.list(principal.account, options);
      const services = yield* await context.ports.provider.services.list(principal.account, options);
      return ok<readonly SecretRow[]>(stored.map((secret) => secretRowOf(secret, services)));
    }),
});

const findSecret = (
  stored: readonly StoredSecret[],
  name: SecretName,
  version: number | undefined,
): Result<StoredSecret, ControlPlaneError> => {
  const secret = stored.find((one) => one.name === name);
  if (secret === undefined)
    return err(notFound(`Your account has no secret '${name}'. Run 'portside secret list' to list your secrets.`));
  return version === undefined || secret.versions.some((one) => one.version === version)
    ? ok(secret)
    : err(notFound(`The secret '${name}' has no version ${version}. Run 'portside secret list' to list its versions.`));
};

/** Deletes a version or a secret that no deployment uses. The caller must hold the permit of `Context.secrets`. */
const deleteUnused = (caller: Caller, name: SecretName, version: number | undefined) =>
  safeTry<{ readonly detail: string }, ControlPlaneError>(async function* () {
    const { context, principal, options } = caller;
    const { account } = principal;
    const secrets = yield* storeOf(caller);
    const found = findSecret(yield* await secrets.list(account, options), name, version);
    const services = yield* await context.ports.provider.services.list(account, options);
    const problem = secretDeletionProblem(name, version, usesOf(name, services));
    if (problem !== undefined) return err(conflict(problem));
    // A deletion that failed midway may have left a value that `list` omits, so the store decides what exists.
    yield* await secrets
      .delete(account, name, version, options)
      .mapErr((error) => (error.kind === "not_found" && found.isErr() ? found.error : error));
    const what = version === undefined ? `'${name}'` : `Version ${version} of '${name}'`;
    return ok({ detail: `${what} was deleted.` });
  });

export const deleteSecret = useCase({
  fields: deleteSecretFields,
  requires: secretStore,
  run: (call) =>
    call.context.secrets.run(call.principal.account, () =>
      deleteUnused(call, call.input.name, call.input.version ?? undefined),
    ),
});
