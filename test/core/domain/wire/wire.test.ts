/**
 * Snapshot of the whole wire format in wire.txt: every field that clients send or receive. Run `npx vitest run
 * --project core wire -u` after an intended change and review the diff as an API change.
 */
import { expect, test } from "vitest";
import { z } from "zod";
import { accountUsageSchema } from "../../../../core/domain/accounts/quotas.ts";
import { deploymentSchema } from "../../../../core/domain/deploy/deployment.ts";
import { deployEventSchema } from "../../../../core/domain/deploy/events.ts";
import { deployFields } from "../../../../core/domain/deploy/fields.ts";
import { projectFields } from "../../../../core/domain/deploy/project-file.ts";
import { logPageSchema } from "../../../../core/domain/logs/entry.ts";
import { sqlRowsSchema } from "../../../../core/domain/sql/answer.ts";
import { sqlSchemaSchema } from "../../../../core/domain/sql/tables.ts";
import { costReportSchema } from "../../../../core/domain/usage/cost.ts";
import { metricsSchema } from "../../../../core/domain/usage/metrics.ts";
import { subscriptionSchema } from "../../../../core/domain/usage/subscription.ts";
import * as volumes from "../../../../core/domain/volumes/volume.ts";
import { capabilitiesSchema } from "../../../../core/domain/wire/capabilities.ts";
import * as requests from "../../../../core/domain/wire/requests.ts";
import * as answers from "../../../../core/domain/wire/responses.ts";

const schemasIn = (module: object): [string, z.ZodType][] =>
  Object.entries(module).filter(([name, value]) => name.endsWith("Schema") && value instanceof z.ZodType);

const answered: readonly [string, z.ZodType][] = [
  ...schemasIn(answers),
  ...schemasIn(volumes),
  ...schemasIn({ capabilitiesSchema, deployEventSchema, deploymentSchema, logPageSchema }),
  ...schemasIn({
    accountUsageSchema,
    costReportSchema,
    metricsSchema,
    sqlRowsSchema,
    sqlSchemaSchema,
    subscriptionSchema,
  }),
];

const asked: readonly [string, z.ZodType][] = Object.entries({ ...requests, deployFields, projectFields })
  .filter(([name]) => name.endsWith("Fields"))
  .flatMap(([name, fields]) =>
    Object.entries(fields).map(([field, schema]): [string, z.ZodType] => [`${name}.${field}`, schema]),
  );

/** One line for each part of a schema: its path and all its keywords. */
const linesOf = (at: string, schema: unknown): string[] => {
  if (typeof schema !== "object" || schema === null) return [`${at}: ${JSON.stringify(schema)}`];
  const own: string[] = [];
  const parts: string[] = [];
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === "$schema") continue;
    if (keyword === "properties")
      for (const [name, part] of Object.entries(value)) parts.push(...linesOf(`${at}.${name}`, part));
    else if (["anyOf", "oneOf"].includes(keyword))
      for (const [index, part] of value.entries()) parts.push(...linesOf(`${at}|${index + 1}`, part));
    else if (["items", "propertyNames"].includes(keyword) || (typeof value === "object" && !Array.isArray(value)))
      parts.push(...linesOf(`${at}.${keyword}`, value));
    else own.push(`${keyword}=${JSON.stringify(value)}`);
  }
  return [`${at}: ${own.join(" ")}`, ...parts];
};

test("matches the recorded wire format", async () => {
  const lines = [...asked, ...answered].flatMap(([name, schema]) =>
    linesOf(name, z.toJSONSchema(schema, { unrepresentable: "any" })),
  );
  await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot("wire.txt");
});
