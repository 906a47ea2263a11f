/** Any legal environment is preserved exactly; no client input makes the parser throw. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { readEnvironment } from "../../../../core/domain/deploy/environment.ts";
import { environment, nastyString } from "../../../arbitraries/index.ts";
import { runs } from "../../../support/vitest/runs.ts";

test("returns a legal environment pair by pair", () => {
  fc.assert(
    fc.property(environment(), (env) => {
      const read = readEnvironment(JSON.parse(JSON.stringify(env)));
      expect(read.issues).toEqual([]);
      expect(Object.entries(read.env).sort()).toEqual(Object.entries(env).sort());
    }),
    runs(500),
  );
});

test("accepts or rejects names by the rule alone", () => {
  fc.assert(
    fc.property(nastyString(), (name) => {
      const legal = /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !/^(?:PORT$|CRON_TOKEN$|K_|PORTSIDE_)/.test(name);
      const { issues } = readEnvironment(Object.fromEntries([[name, "x"]]));
      expect(issues.length === 0).toBe(legal);
      for (const one of issues) expect(one.path).toEqual([name]);
    }),
    runs(500),
  );
});

test("accepts any input or rejects it with a reason", () => {
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), fc.dictionary(nastyString(), fc.jsonValue())), (raw) => {
      const { env, issues } = readEnvironment(raw);
      if (issues.length > 0) expect(env).toEqual({});
      else for (const value of Object.values(env)) expect(typeof value).toBe("string");
    }),
    runs(500),
  );
});
