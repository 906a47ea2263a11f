/** `parse(render(template))` equals the template, for every template. Other documents are rejected. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseService, renderService } from "../../../../adapters/shared/deploy/service-document.ts";
import type { SecretName } from "../../../../core/domain/wire/names.ts";
import { serviceTemplate } from "../../../arbitraries/index.ts";
import { runs } from "../../../support/vitest/runs.ts";

test("rendering and parsing returns the same template, as a document and as JSON text", () => {
  fc.assert(
    fc.property(serviceTemplate(), (template) => {
      const document = renderService(template);
      expect(parseService(document)).toStrictEqual(template);
      expect(parseService(JSON.parse(JSON.stringify(document)))).toStrictEqual(template);
      expect(renderService(parseService(document) ?? template)).toStrictEqual(document);
    }),
    runs(500),
  );
});

test("earlier versions reject a document with secrets, instead of starting instances without them", () => {
  fc.assert(
    fc.property(serviceTemplate(), ({ secrets: _secrets, ...plain }) => {
      const secrets = { TOKEN: { name: "KEY" as SecretName, version: 1, follows: true } };
      const document = renderService({ ...plain, secrets });
      // Earlier versions read documents of this version, and ignore unknown fields.
      expect(document.apiVersion).not.toBe("portside/v1");
      expect(renderService(plain).apiVersion).toBe("portside/v1");
      // Unreleased versions wrote secrets in such documents.
      expect(parseService({ ...document, apiVersion: "portside/v1" })).toStrictEqual({ ...plain, secrets });
    }),
    runs(100),
  );
});

test("preserves the names of the environment and their order, including `__proto__`", () => {
  fc.assert(
    fc.property(serviceTemplate(), (template) => {
      const pairs = Object.entries(template.env);
      expect(Object.entries(parseService(renderService(template))?.env ?? {})).toEqual(pairs);
    }),
    runs(200),
  );
});

test("rendering copies, so changes to the document do not affect the template", () => {
  fc.assert(
    fc.property(serviceTemplate(), (template) => {
      const before = structuredClone(template);
      const document = renderService(template);
      for (const mount of document.spec.mounts) mount.volume = "changed";
      if (document.spec.schedule !== null) document.spec.schedule.cron = "changed";
      expect(template).toEqual(before);
    }),
    runs(100),
  );
});

/** The paths of all values in a document. */
const leaves = (value: unknown, path: readonly string[] = []): (readonly string[])[] =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.entries(value).flatMap(([key, inner]) => leaves(inner, [...path, key]))
    : [path];

const without = (document: unknown, [key = "", ...rest]: readonly string[]): unknown => {
  const { [key]: inner, ...others } = document as Record<string, unknown>;
  return rest.length === 0 ? others : { ...others, [key]: without(inner, rest) };
};

test("rejects a document that lacks one of its parts", () => {
  fc.assert(
    fc.property(serviceTemplate(), fc.nat(), (template, pick) => {
      // These fields are newer than the first documents and may be absent.
      const { envAliases: _aliases, minInstances: _min, health: _health, idle: _idle, ...newer } = template;
      const { secrets: _secrets, ...first } = newer;
      const document = renderService({ ...first, schedule: null, mounts: [] });
      const places = leaves(document);
      expect(parseService(without(document, places[pick % places.length] ?? []))).toBeUndefined();
    }),
    runs(300),
  );
});

test.each([
  null,
  undefined,
  5,
  "text",
  [],
  {},
  { apiVersion: "portside/v1" },
  { apiVersion: "other/v1", metadata: {}, spec: {} },
])("rejects %j", (raw) => expect(parseService(raw)).toBeUndefined());
