/** Which deployments use a secret, which are behind, and which versions may be deleted. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { secretLimits } from "../../../../core/domain/accounts/limits.ts";
import type { Service, ServiceTemplate } from "../../../../core/domain/deploy/service-template.ts";
import type { PinnedSecrets } from "../../../../core/domain/secrets/references.ts";
import { isBehind, prunableVersions, secretDeletionProblem, usesOf } from "../../../../core/domain/secrets/uses.ts";
import type { DeploymentName, SecretName } from "../../../../core/domain/wire/names.ts";
import { storedSecrets } from "../../../arbitraries/index.ts";
import { runs } from "../../../support/vitest/runs.ts";

const [KEY, OTHER] = ["KEY" as SecretName, "OTHER" as SecretName];

const pin = (version: number, more: { name?: SecretName; follows?: boolean } = {}) => ({
  name: KEY,
  version,
  follows: true,
  ...more,
});

const template = (...pins: PinnedSecrets[string][]) =>
  ({ secrets: Object.fromEntries(pins.map((one, index) => [`V${index}`, one])) }) as unknown as ServiceTemplate;

const service = (name: string, serving: ServiceTemplate[], rollingOut: ServiceTemplate | null = null) =>
  ({
    name: name as DeploymentName,
    serving: serving.map((one, index) => ({ id: `${name}-${index}`, template: one })),
    rollingOut,
  }) as unknown as Service;

describe("uses", () => {
  test("are those of serving revisions and of the rollout, once for each version", () => {
    const services = [
      service("a", [template(pin(2), pin(2, { follows: false }), pin(1))]),
      service("b", [template(pin(1, { name: OTHER }))], template(pin(3))),
      service("c", [{} as ServiceTemplate]),
    ];
    expect(usesOf(KEY, services)).toEqual([
      { name: "a", version: 2 },
      { name: "a", version: 1 },
      { name: "b", version: 3 },
    ]);
  });

  test("prevent a deletion, with the names of the deployments", () => {
    const uses = usesOf(KEY, [service("a", [template(pin(2), pin(1))]), service("b", [template(pin(2))])]);
    expect(secretDeletionProblem(KEY, undefined, uses)).toBe(
      "The secret 'KEY' is used by 'a', 'b'. Deploy without the secret first, or remove those deployments.",
    );
    expect(secretDeletionProblem(KEY, 1, uses)).toBe(
      "Version 1 of the secret 'KEY' is used by 'a'. Deploy without the secret first, or remove that deployment.",
    );
    expect(secretDeletionProblem(KEY, 3, uses)).toBeUndefined();
    expect(secretDeletionProblem(KEY, undefined, [])).toBeUndefined();
  });
});

test.each([
  ["an older followed version", [template(pin(1))], true],
  ["the newest version", [template(pin(2))], false],
  ["an older fixed version", [template(pin(1, { follows: false }))], false],
  ["an older version of another secret", [template(pin(1, { name: OTHER }))], false],
  ["several variables, one of them behind", [template(pin(2), pin(1))], true],
  ["no secrets", [{} as ServiceTemplate], false],
  ["no serving revision", [], false],
])("a deployment with %s: behind is %#", (_what, serving, behind) => {
  expect(isBehind(service("a", serving, template(pin(1))), KEY, 2)).toBe(behind);
});

test("the newest versions and the pinned ones are kept, and all others may be deleted", () => {
  fc.assert(
    fc.property(storedSecrets(), fc.uniqueArray(fc.integer({ min: 1, max: 20 })), (stored, pinned) => {
      for (const secret of stored) {
        const numbers = secret.versions.map(({ version }) => version).sort((a, b) => b - a);
        const prunable = prunableVersions(secret, new Set(pinned));
        const kept = numbers.filter((version) => !prunable.includes(version));
        expect(kept.slice(0, secretLimits.versionsKept)).toEqual(numbers.slice(0, secretLimits.versionsKept));
        for (const version of kept.slice(secretLimits.versionsKept)) expect(pinned).toContain(version);
        for (const version of prunable) expect(pinned).not.toContain(version);
      }
    }),
    runs(300),
  );
});
