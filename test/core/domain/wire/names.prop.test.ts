/** Names compared with a one-line form of their rule. */
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

test("accepts exactly the deployment names of the rule, and gives a reason for every other text", () => {
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

test("accepts exactly the volume names of the rule", () => {
  fc.assert(
    fc.property(fc.oneof(volumeName(), nearlyAName), (text) => {
      const fits = /^(?=.{1,40}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/.test(text);
      expect(parseVolumeName(text)).toBe(fits ? text : undefined);
      expect(violations(text, volumeNameShape).length === 0).toBe(fits);
    }),
    runs(1000),
  );
});

test("'-' and '_' give the same name", () => {
  fc.assert(
    fc.property(writtenDeploymentName(), ({ written, name }) => {
      expect(parseDeploymentName(written)).toBe(name);
      expect(normalizeDeploymentName(normalizeDeploymentName(written))).toBe(name);
    }),
    runs(500),
  );
});
