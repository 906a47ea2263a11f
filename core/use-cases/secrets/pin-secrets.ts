/** Resolves the references of a deploy to versions of secrets. */
import type { DeployDeclaration } from "../../domain/deploy/declaration.ts";
import type { DeployPlan } from "../../domain/deploy/plan.ts";
import type { DeployFailure } from "../../domain/deploy/reason.ts";
import { type Service, shownTemplate } from "../../domain/deploy/service-template.ts";
import { missingPin, type PinnedSecrets, pinReferences, referencesOf } from "../../domain/secrets/references.ts";
import type { StoredSecret } from "../../domain/secrets/secret.ts";
import { type ControlPlaneError, invalidInput } from "../../errors.ts";
import { err, ok, okAsync, type ResultAsync } from "../../result.ts";
import { endedEarly, type PhaseResult, type RunContext } from "../deploy/phase.ts";
import type { Caller } from "../pipeline/use-case.ts";

/**
 * Returns the account's secrets, for a decision about references.
 * @param references if empty, returns an empty list without reading the store
 */
export const storedSecrets = (
  { context, principal, options }: Caller,
  references: object = {},
): ResultAsync<readonly StoredSecret[], ControlPlaneError> => {
  const { secrets } = context.ports.provider;
  if (Object.keys(references).length === 0 || secrets === undefined) return okAsync([]);
  return secrets.list(principal.account, options);
};

/** Pins the references of a declaration. A declaration without `env` keeps the references of the current service. */
export const pinSecrets = (
  caller: Caller,
  { secretReferences }: DeployDeclaration,
  current: Service | null,
): ResultAsync<PinnedSecrets, ControlPlaneError> => {
  const references = secretReferences ?? referencesOf(current === null ? {} : shownTemplate(current).secrets);
  return storedSecrets(caller, references).andThen((stored) => pinReferences(references, stored).mapErr(invalidInput));
};

/** Pins the references of a plan again, because a secret may have a new version since the plan was made. */
export const pinAgain = async (context: RunContext, plan: DeployPlan): Promise<PhaseResult<DeployPlan>> => {
  const { principal, run } = context;
  const references = referencesOf(plan.spec.secrets);
  if (Object.keys(references).length === 0) return ok(plan);
  const stored = await storedSecrets({ context, principal, options: { signal: run.signal } }, references);
  if (run.signal.aborted) return err(endedEarly(run));
  if (stored.isErr()) return err({ reason: "provider_unavailable", message: stored.error.message });
  return pinReferences(references, stored.value)
    .map((secrets): DeployPlan => ({ ...plan, spec: { ...plan.spec, secrets } }))
    .mapErr((issues) => ({ reason: "secret_unavailable", message: invalidInput(issues).message }));
};

/**
 * Returns a failure if a pinned version was deleted. The caller must first make the pins visible to all readers, so
 * that later deletions find the pins and fail.
 */
export const checkSecrets = async (
  context: RunContext,
  pins: PinnedSecrets = {},
): Promise<DeployFailure | undefined> => {
  if (Object.keys(pins).length === 0) return undefined;
  const { principal, run } = context;
  const stored = await context.secrets.run(run.owner, () => storedSecrets({ context, principal, options: {} }, pins));
  if (stored.isErr()) return { reason: "provider_unavailable", message: stored.error.message };
  const message = missingPin(pins, stored.value);
  return message === undefined ? undefined : { reason: "secret_unavailable", message };
};
