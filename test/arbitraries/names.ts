/** Names that clients choose, always within the rules of contract 4.2 and 5.1, up to their full length. */
import fc from "fast-check";
import type { AccountId } from "../../core/domain/accounts/account.ts";
import {
  DEPLOYMENT_NAME_MAX,
  type DeploymentName,
  reservedNames,
  VOLUME_NAME_MAX,
  type VolumeName,
} from "../../core/domain/wire/names.ts";

const letters = "abcdefghijklmnopqrstuvwxyz";
const digits = "0123456789";

const oneOf = (characters: string): fc.Arbitrary<string> => fc.constantFrom(...characters);

/** A first character, then perhaps a middle with hyphens and a last character that is not a hyphen. */
const hostLabel = (first: string, max: number): fc.Arbitrary<string> => {
  const middle = fc.string({ unit: oneOf(`${letters}${digits}-`), maxLength: max - 2, size: "max" });
  const rest = fc.tuple(middle, oneOf(letters + digits)).map((parts) => parts.join(""));
  return fc.tuple(oneOf(first), fc.option(rest, { nil: "", freq: 8 })).map((parts) => parts.join(""));
};

/** A deployment name that no default reserves. */
export const deploymentName = (): fc.Arbitrary<DeploymentName> =>
  hostLabel(letters, DEPLOYMENT_NAME_MAX)
    .filter((name) => !reservedNames.includes(name))
    .map((name) => name as DeploymentName);

/** A deployment name as a client may write it: some hyphens as `_`. */
export const writtenDeploymentName = (): fc.Arbitrary<{ readonly written: string; readonly name: DeploymentName }> =>
  fc
    .tuple(deploymentName(), fc.array(fc.boolean(), { maxLength: DEPLOYMENT_NAME_MAX, size: "max" }))
    .map(([name, flips]) => ({
      name,
      written: name.replaceAll("-", (_, at: number) => (flips[at] === true ? "_" : "-")),
    }));

export const volumeName = (): fc.Arbitrary<VolumeName> =>
  hostLabel(letters + digits, VOLUME_NAME_MAX).map((name) => name as VolumeName);

const claim = fc.string({ unit: oneOf(`${letters}${digits}._@|+-`), minLength: 1, maxLength: 40 });

/** A key account, or one that a token's issuer and claim make. */
export const accountId = (): fc.Arbitrary<AccountId> =>
  fc
    .tuple(oneOf(letters + digits), claim, fc.option(claim, { nil: undefined }))
    .map(([first, rest, subject]) => (subject === undefined ? first + rest : `${first}${rest}:${subject}`))
    .map((account) => account as AccountId);
