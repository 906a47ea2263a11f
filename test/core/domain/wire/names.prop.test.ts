/** Names against the one-line form of their rule. */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  deploymentNameProblem,
  deploymentNameShape,
  normalizeDeploymentName,
  parseDeploymentName,
  parseVolumeName,
  reservedNames,
  volumeNameShape,
} from "../../../../core/domain/wire/names.ts";
import { deploymentName, nastyString, volumeName, writtenDeploymentName } from "../../../arbitraries/index.ts";
import { violations } from "../../../support/http/json-schema.ts";
import { runs } from "../../../support/vitest/runs.ts";

const nearlyAName = fc.oneof(
  nastyString(),
  fc.string({ unit: fc.constantFrom(..."abz059-_A."), maxLength: 52, size: "max" }),
  fc.constantFrom(...reservedNames),
);

test("a deployment name is what the rule says, and every other text has a reason", () => {
  fc.assert(
    fc.property(fc.oneof(deploymentName(), nearlyAName), (text) => {
      expect(violations(text, deploymentNameShape).length === 0).toBe(
        deploymentNameProblem(normalizeDeploymentName(text), []) === undefined,
      );
      const fits = /^(?=.{1,49}$)[a-z](?:[a-z0-9-]*[a-z0-9])?$/.test(text) && !reservedNames.includes(text);
      expect(deploymentNameProblem(text) === undefined).toBe(fits);
      if (!fits) expect(deploymentNameProblem(text)).not.toBe("");
    }),
    runs(1000),
  );
});

test("a volume name is what the rule says", () => {
  fc.assert(
    fc.property(fc.oneof(volumeName(), nearlyAName), (text) => {
      const fits = /^(?=.{1,40}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/.test(text);
      expect(parseVolumeName(text)).toBe(fits ? text : undefined);
      expect(violations(text, volumeNameShape).length === 0).toBe(fits);
    }),
    runs(1000),
  );
});

test("however hyphens are written, the name is the same", () => {
  fc.assert(
    fc.property(writtenDeploymentName(), ({ written, name }) => {
      expect(parseDeploymentName(written)).toBe(name);
      expect(normalizeDeploymentName(normalizeDeploymentName(written))).toBe(name);
    }),
    runs(500),
  );
});
