/** What comes before a deploy's stream, and before a plan's answer: reading the request, and planning it. */
import { type AccountId, mayUse, type Principal } from "../../domain/accounts/account.ts";
import { type DeclareContext, type DeployDeclaration, declareDeploy } from "../../domain/deploy/declaration.ts";
import { type DeployPlan, planDeploy } from "../../domain/deploy/plan.ts";
import { applyPolicies } from "../../domain/deploy/policy.ts";
import { shownTemplate } from "../../domain/deploy/service-template.ts";
import { type Issue, issue } from "../../domain/wire/issue.ts";
import { type ControlPlaneError, forbidden, invalidInput } from "../../errors.ts";
import type { ReceivedSource } from "../../ports/source-spool.ts";
import type { CallOptions } from "../../ports/system.ts";
import type { StoredVolume } from "../../ports/volume-store.ts";
import { err, ok, type Result } from "../../result.ts";
import type { Context } from "../pipeline/context.ts";
import { tooManyVolumes } from "../volumes/volumes.ts";

export interface DeployRequest {
  /** The form's fields by their wire names, as text or as JSON values. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** What `receiveSource` returned for the archive; absent where none was sent. */
  readonly archive?: ReceivedSource | undefined;
  /** What the host found wrong with the request itself; reported together with everything else. */
  readonly issues?: readonly Issue[];
}

/** What this platform allows, whatever is declared. */
const declareContext = ({ ports, settings }: Context): DeclareContext => ({
  capabilities: ports.provider.capabilities,
  limits: settings.accountLimits,
  reserved: settings.reservedNames,
  envAliases: settings.envAliases,
});

/** Reads the request; every broken rule comes back at once. */
export const readDeclaration = (
  context: Context,
  request: DeployRequest,
  sourceOptional = false,
): Result<DeployDeclaration, ControlPlaneError> => {
  const { archive, issues = [] } = request;
  const declared = declareDeploy(request.fields, {
    ...declareContext(context),
    archive: archive === undefined ? undefined : { issues: archive.kind === "refused" ? archive.issues : [] },
    sourceOptional,
  });
  if (declared.isOk() && issues.length === 0) return ok(declared.value);
  return err(invalidInput([...issues, ...(declared.isErr() ? declared.error : [])]));
};

/** Reads what stands under the name now, checks owner and quota, asks the policies, and plans. Nothing is done. */
export const preparePlan = async (
  context: Context,
  principal: Principal,
  declaration: DeployDeclaration,
  options: CallOptions = {},
): Promise<Result<DeployPlan, ControlPlaneError>> => {
  const { services, capabilities } = context.ports.provider;
  const { account } = principal;
  const found = await services.find(declaration.name, options);
  if (found.isErr()) return err(found.error);
  if (!mayUse(account, found.value)) return err(forbidden(`'${declaration.name}' belongs to another account.`));
  const current = found.value.kind === "held" ? found.value.service : null;
  if (current === null) {
    const own = await services.list(account, options);
    if (own.isErr()) return err(own.error);
    const most = context.settings.accountLimits.deployments;
    if (own.value.length >= most)
      return err(
        invalidInput([
          issue(["function_name"], `your account has its ${most} deployments; remove one first`, "quota_exceeded"),
        ]),
      );
  }
  const present = current === null ? null : shownTemplate(current);
  const question = { declaration, current: present, principal };
  const ruled = applyPolicies(context.settings.policies, question, declareContext(context));
  if (ruled.isErr()) return err("kind" in ruled.error ? ruled.error : invalidInput(ruled.error));
  const { declaration: allowed, adjustments } = ruled.value;
  const volumes = await volumesFor(context, account, allowed, options);
  return volumes.map((known) => planDeploy(account, allowed, current, capabilities, known, adjustments));
};

/** The account's volumes, where the declaration mounts any and there is room for those that it would make. */
const volumesFor = async (
  context: Context,
  account: AccountId,
  { mounts }: DeployDeclaration,
  options: CallOptions,
): Promise<Result<readonly StoredVolume[], ControlPlaneError>> => {
  if (mounts.length === 0) return ok([]);
  const own = await context.ports.provider.volumes.list(account, options);
  if (own.isErr()) return err(own.error);
  const names = new Set([...own.value.map(({ name }) => name), ...mounts.map(({ volume }) => volume)]);
  const full = names.size > own.value.length ? tooManyVolumes(context, names.size) : undefined;
  return full === undefined ? ok(own.value) : err(invalidInput([issue(["volumes"], full, "quota_exceeded")]));
};
