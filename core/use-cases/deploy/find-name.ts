/** Looks up a deployment name for an account. */
import { mayUse } from "../../domain/accounts/account.ts";
import type { DeploymentName } from "../../domain/wire/names.ts";
import { type ControlPlaneError, forbidden, notFound } from "../../errors.ts";
import type { NameState } from "../../ports/service-platform.ts";
import { err, ok, type Result } from "../../result.ts";
import type { Caller } from "../pipeline/use-case.ts";

const notYours = (name: DeploymentName, { kind }: NameState): string =>
  kind === "reserved"
    ? `The name '${name}' is reserved for another account or application. Choose another name.`
    : `The deployment '${name}' belongs to another account.`;

/** Returns the state of a name. Fails with `forbidden` if the name belongs to another account or application. */
export const findName = async (
  { context, principal, options }: Caller,
  name: DeploymentName,
): Promise<Result<NameState, ControlPlaneError>> => {
  const found = await context.ports.provider.services.find(name, options);
  return found.andThen((state) =>
    mayUse(principal.account, state) ? ok(state) : err(forbidden(notYours(name, state))),
  );
};

/** Returns the account's service. Fails with `not_found` if no service has the name. */
export const ownService = async (caller: Caller, name: DeploymentName) => {
  const found = await findName(caller, name);
  return found.andThen((state) =>
    state.kind === "held" ? ok(state.service) : err(notFound(`The deployment '${name}' does not exist.`)),
  );
};
