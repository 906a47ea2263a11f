/** The rules agree with the examples and tables on the pages about portside.json and the environment. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { fieldLimits } from "../../core/domain/accounts/limits.ts";
import { envAliasesProblem, readEnvironment } from "../../core/domain/deploy/environment.ts";
import { readProject } from "../../core/domain/deploy/project-file.ts";

const page = (name: string): string => readFileSync(`docs/${name}.md`, "utf8");

const jsonOf = (text: string): Record<string, unknown>[] =>
  [...text.matchAll(/^```json\n(.*?)^```$/gms)].map(([, json = ""]) => JSON.parse(json));

const environment = page("guides/environment");

describe.each([page("reference/project-file"), environment])("examples of portside.json", (text) => {
  const examples = jsonOf(text).filter((one) => Object.hasOwn(one, "name"));

  test.each(examples)("%j", (example) => {
    expect(readProject(example).issues).toEqual([]);
  });
});

/** The names in the first column of each table. */
const tables = environment
  .split("| variable |")
  .slice(1)
  .map((text) =>
    [...text.matchAll(/^\| (`[^|]+) \|/gm)].flatMap(([, cell = ""]) =>
      [...cell.matchAll(/`(\w+)`/g)].map(([, name = ""]) => name),
    ),
  );

test("names that Portside sets are reserved, and names with a default are not", () => {
  const [set = [], defaults = []] = tables;
  expect(set).toContain("CRON_TOKEN");
  expect(defaults).toContain("TMPDIR");
  for (const name of set) expect(readEnvironment({ [name]: "x" }).issues, name).toHaveLength(1);
  for (const name of defaults) expect(readEnvironment({ [name]: "x" }).issues, name).toEqual([]);
});

test("the alias and the bound match the code", () => {
  const aliases = jsonOf(environment).find((one) => Object.hasOwn(one, "envAliases"))?.["envAliases"];
  expect(envAliasesProblem(aliases as Record<string, string>)).toBeUndefined();
  expect(environment).toContain(`at most ${fieldLimits.env.maxBytes / 1024} KiB`);
});
