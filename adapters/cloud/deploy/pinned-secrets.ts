/** Failures of rollouts that use secrets. */
import { deployLimits } from "../../../core/domain/accounts/limits.ts";
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import { Redactor } from "../../../core/domain/secrets/redact.ts";
import type { PinnedSecret, PinnedSecrets } from "../../../core/domain/secrets/references.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { ResultAsync } from "../../../core/result.ts";

export const secretMissing = ({ name, version }: PinnedSecret): DeployFailure => ({
  reason: "secret_unavailable",
  message: `Version ${version} of the secret '${name}' does not exist. Set it with 'portside secret set ${name}', then deploy again.`,
});

/**
 * Removes the values of secrets from the service's last lines, or all lines if the values cannot be read.
 *
 * @param values reads the values of the pinned versions
 */
export const withoutSecrets = async (
  failure: DeployFailure,
  pins: PinnedSecrets,
  values: () => ResultAsync<readonly string[], Unavailable>,
): Promise<DeployFailure> => {
  const { logTail, ...rest } = failure;
  if (logTail === undefined || Object.keys(pins).length === 0) return failure;
  const read = await values();
  if (read.isErr()) return rest;
  const redactor = new Redactor(read.value);
  return { ...rest, logTail: logTail.map((line) => redactor.redact(line, deployLimits.lineBytes)) };
};
