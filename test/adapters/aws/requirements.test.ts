/** The declared requirements match the commands that the adapter sends. */
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { needs, sqlNeeds } from "../../../adapters/aws/requirements.ts";

const sentIn = (file: string): string[] =>
  // Service Quotas has no client.
  [...readFileSync(file, "utf8").matchAll(/new (\w+Command)\(|"(\w+Command|List\w*ServiceQuotas)"/g)].map(
    ([, a, b]) => (a ?? b) as string,
  );

test("declares the actions of every command that the adapter sends, and of no other", () => {
  const sent = globSync("adapters/aws/**/*.ts").flatMap(sentIn);
  const documented = Object.values({ ...needs, ...sqlNeeds }).flatMap(({ calls }) => Object.keys(calls));
  expect([...new Set(sent)].sort()).toEqual(documented.sort());
});
