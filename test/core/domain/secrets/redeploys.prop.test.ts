/** Which deployments a new value of a secret redeploys, and which version a store records. */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  deploymentsToRedeploy,
  pendingAfterBegin,
  pendingAfterEnd,
} from "../../../../core/domain/secrets/redeploys.ts";
import type { PinnedSecret } from "../../../../core/domain/secrets/references.ts";
import type { DeploymentName, SecretName } from "../../../../core/domain/wire/names.ts";
import { serviceTemplate } from "../../../arbitraries/index.ts";
import { serviceOf } from "../../../support/logs/services.ts";
import { runs } from "../../../support/vitest/runs.ts";

const KEY = "KEY" as SecretName;
const version = fc.integer({ min: 1, max: 5 });

const pin = fc.record<PinnedSecret>({
  name: fc.constantFrom(KEY, "OTHER" as SecretName),
  version,
  follows: fc.boolean(),
});

const services = fc
  .array(fc.tuple(serviceTemplate(), fc.dictionary(fc.constantFrom("A", "B"), pin, { noNullPrototype: true })), {
    maxLength: 5,
  })
  .map((all) =>
    all.map(([template, secrets], index) =>
      serviceOf({ ...template, name: `app-${index}` as DeploymentName, secrets }),
    ),
  );

test("redeploys exactly the deployments that follow the secret and have an older version, in order", () => {
  fc.assert(
    fc.property(services, version, (all, newest) => {
      const expected = all
        .filter(({ serving }) =>
          Object.values(serving[0]?.template.secrets ?? {}).some(
            (one) => one.name === KEY && one.follows && one.version < newest,
          ),
        )
        .map(({ name }) => name);
      expect(deploymentsToRedeploy(all, { name: KEY, version: newest })).toEqual(expected);
    }),
    runs(200),
  );
});

test("a record has the newest version whose redeploys have begun and not ended", () => {
  fc.assert(
    fc.property(fc.uniqueArray(version, { minLength: 1 }), fc.gen(), (begun, gen) => {
      let recorded: number | undefined;
      for (const one of begun) recorded = pendingAfterBegin(recorded, one);
      expect(recorded).toBe(Math.max(...begun));
      const ends = gen(() => fc.shuffledSubarray(begun, { minLength: begun.length }));
      const newest = Math.max(...begun);
      for (const one of ends) {
        const before = recorded;
        recorded = pendingAfterEnd(recorded, one);
        // Only the end of the newest version removes the record.
        expect(recorded).toBe(one >= newest ? undefined : before);
      }
      expect(recorded).toBeUndefined();
    }),
    runs(100),
  );
});
