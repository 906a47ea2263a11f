/** Valid names that clients choose, up to the maximum length. */
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

/** A first character, sometimes followed by characters with hyphens between them. Does not end with a hyphen. */
const hostLabel = (first: string, max: number): fc.Arbitrary<string> => {
  const middle = fc.string({ unit: oneOf(`${letters}${digits}-`), maxLength: max - 2, size: "max" });
  const rest = fc.tuple(middle, oneOf(letters + digits)).map((parts) => parts.join(""));
  return fc.tuple(oneOf(first), fc.option(rest, { nil: "", freq: 8 })).map((parts) => parts.join(""));
};

/** A deployment name that is not reserved by default. */
export const deploymentName = (): fc.Arbitrary<DeploymentName> =>
  hostLabel(letters, DEPLOYMENT_NAME_MAX)
    .filter((name) => !reservedNames.includes(name))
    .map((name) => name as DeploymentName);

/** A deployment name as a client may write it, with `_` for some hyphens. */
export const writtenDeploymentName = (): fc.Arbitrary<{ readonly written: string; readonly name: DeploymentName }> =>
  fc
    .tuple(deploymentName(), fc.array(fc.boolean(), { maxLength: DEPLOYMENT_NAME_MAX, size: "max" }))
    .map(([name, flips]) => ({
      name,
      written: name.replaceAll("-", (_, at: number) => (flips[at] === true ? "_" : "-")),
    }));

/** A volume name. */
export const volumeName = (): fc.Arbitrary<VolumeName> =>
  hostLabel(letters + digits, VOLUME_NAME_MAX).map((name) => name as VolumeName);

const claim = fc.string({ unit: oneOf(`${letters}${digits}._@|+-`), minLength: 1, maxLength: 40 });

/** An account of an API key, or an account from the issuer and a claim of a token. */
export const accountId = (): fc.Arbitrary<AccountId> =>
  fc
    .tuple(oneOf(letters + digits), claim, fc.option(claim, { nil: undefined }))
    .map(([first, rest, subject]) => (subject === undefined ? first + rest : `${first}${rest}:${subject}`))
    .map((account) => account as AccountId);
