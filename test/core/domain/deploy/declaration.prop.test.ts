/** A valid request is read as its declaration. A request with one fault has issues of that field only. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { declareDeploy } from "../../../../core/domain/deploy/declaration.ts";
import { brokenDeployRequest, deployRequest, fargateLikeCatalogue, nastyString } from "../../../arbitraries/index.ts";
import { capabilitiesWith, fullCapabilities } from "../../../support/providers/capabilities.ts";
import { runs } from "../../../support/vitest/runs.ts";

const context = { capabilities: fullCapabilities, archive: { issues: [] } };

test("form text and JSON values give the same declaration", () => {
  fc.assert(
    fc.property(deployRequest(), ({ json, form, declares }) => {
      const expected = { ...declares, source: { kind: "archive" } };
      expect(declareDeploy(json, context)._unsafeUnwrap()).toEqual(expected);
      expect(declareDeploy(form, context)._unsafeUnwrap()).toEqual(expected);
    }),
    runs(500),
  );
});

test("accepts the sizes of the provider in use", () => {
  fc.assert(
    fc.property(deployRequest(fargateLikeCatalogue), ({ json, declares }) => {
      const read = declareDeploy(json, { ...context, capabilities: capabilitiesWith(fargateLikeCatalogue) });
      expect(read._unsafeUnwrap()).toMatchObject({ cpu: declares.cpu, memory: declares.memory });
    }),
    runs(200),
  );
});

test("any single violated bound gives issues that name only its field", () => {
  fc.assert(
    fc.property(brokenDeployRequest(), ({ fields, field, type }) => {
      const issues = declareDeploy(fields, context)._unsafeUnwrapErr();
      expect([...new Set(issues.map((one) => one.path[0]))]).toEqual([field]);
      if (type !== undefined) expect([...new Set(issues.map((one) => one.type))]).toEqual([type]);
      for (const { message } of issues) expect(message).not.toBe("");
    }),
    runs(2000),
  );
});

test("reports faults of two fields together", () => {
  fc.assert(
    fc.property(brokenDeployRequest(), brokenDeployRequest(), (one, other) => {
      fc.pre(one.field !== other.field && !("schedule" in other.fields && one.field === "timezone"));
      const value = Object.hasOwn(other.fields, other.field) ? { [other.field]: other.fields[other.field] } : undefined;
      fc.pre(value !== undefined && other.field !== "timezone" && other.field !== "__proto__");
      const named = declareDeploy({ ...one.fields, ...value }, context)
        ._unsafeUnwrapErr()
        .map(({ path }) => path[0]);
      expect(named).toContain(one.field);
      expect(named).toContain(other.field);
    }),
    runs(500),
  );
});

test("never throws", () => {
  const name = fc.constantFrom(
    "function_name",
    "volumes",
    "env",
    "schedule",
    "timezone",
    "memory",
    "cpu",
    "source_object",
  );
  fc.assert(
    fc.property(fc.dictionary(fc.oneof(name, nastyString()), fc.oneof(nastyString(), fc.jsonValue())), (raw) => {
      const read = declareDeploy(raw, context);
      if (read.isErr()) expect(read.error.length).toBeGreaterThan(0);
    }),
    runs(500),
  );
});
