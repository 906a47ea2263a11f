/** Looks up a deployment name for an account. */
import { mayUse, type Principal } from "../../domain/accounts/account.ts";
import type { DeploymentName } from "../../domain/wire/names.ts";
import { type ControlPlaneError, forbidden } from "../../errors.ts";
import type { NameState } from "../../ports/service-platform.ts";
import type { CallOptions } from "../../ports/system.ts";
import { err, ok, type Result } from "../../result.ts";
import type { Context } from "../pipeline/context.ts";

/** Returns the state of a name. Fails with `forbidden` if it belongs to another account. */
export const findName = async (
  { ports }: Context,
  { account }: Principal,
  name: DeploymentName,
  options: CallOptions,
): Promise<Result<NameState, ControlPlaneError>> => {
  const found = await ports.provider.services.find(name, options);
  return found.andThen((state) =>
    mayUse(account, state) ? ok(state) : err(forbidden(`'${name}' belongs to another account.`)),
  );
};
