/** The layering rules hold for every file, and the check finds seeded violations. */
import { globSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { violationsOf } from "./layers.ts";

const sources = globSync([
  "core/**/*.ts",
  "adapters/**/*.ts",
  "hosts/**/*.{ts,tsx}",
  "test/contracts/*.ts",
  "test/arbitraries/*.ts",
  "test/simulation/*.ts",
]);

const seeded: readonly (readonly [file: string, code: string])[] = [
  ["core/use-cases/x.ts", 'import { World } from "../../adapters/memory/world.ts";'],
  ["core/use-cases/x.ts", 'import type { World } from "../../adapters/memory/world.ts";'],
  ["core/use-cases/x.ts", 'export { World } from "../../adapters/memory/world.ts";'],
  ["core/use-cases/x.ts", 'const world = await import("../../adapters/memory/world.ts");'],
  ["core/domain/x.ts", 'import { readFileSync } from "node:fs";'],
  ["core/domain/x.ts", 'import { readFile } from "node:fs/promises";'],
  ["core/domain/x.ts", 'import { Storage } from "@google-cloud/storage";'],
  ["core/domain/x.ts", 'import { ok } from "neverthrow";'],
  ["core/domain/x.ts", 'import type { Clock } from "../ports/system.ts";'],
  ["core/domain/x.ts", 'import { thing } from "#adapters/x";'],
  ["core/ports/x.ts", 'import { createControlPlane } from "../control-plane.ts";'],
  ["adapters/local/x.ts", 'import { createWorld } from "../memory/world.ts";'],
  ["adapters/memory/x.ts", 'import { openState } from "../local/state/database.ts";'],
  ["adapters/local/x.ts", 'import { deploy } from "../../core/use-cases/deploy/deploy.ts";'],
  ["hosts/console/x.tsx", 'import type { Deployment } from "../../core/domain/deploy/deployment.ts";'],
  ["hosts/console/deploy/x.tsx", 'import { endpoints } from "../../http/endpoints.ts";'],
  ["adapters/local/x.ts", 'import { Container } from "inversify";'],
  ["adapters/local/x.ts", 'import { portside } from "../../hosts/http/index.ts";'],
  ["adapters/shared/x.ts", 'import { createWorld } from "../memory/world.ts";'],
  ["adapters/cloud/x.ts", 'import { gcpConfigOf } from "../gcp/config.ts";'],
  ["adapters/cloud/x.ts", 'import type { S3Client } from "@aws-sdk/client-s3";'],
  ["adapters/shared/x.ts", 'import { holderOf } from "../cloud/volumes/record.ts";'],
  ["adapters/local/x.ts", 'import { holderOf } from "../cloud/volumes/record.ts";'],
  ["adapters/decorators/x.ts", 'import { createWorld } from "../memory/world.ts";'],
  ["adapters/shared/x.ts", 'import { Registry } from "prom-client";'],
  ["hosts/http/x.ts", 'import { createMemoryProvider } from "../../adapters/memory/index.ts";'],
  ["hosts/http/x.ts", 'import { Container } from "inversify";'],
  ["hosts/http/x.ts", 'import type { Ports } from "../../core/ports/provider.ts";'],
  ["hosts/cli/x.ts", 'import { createLocalProvider } from "../../adapters/local/index.ts";'],
  ["hosts/client/x.ts", 'import { randomUUID } from "node:crypto";'],
  ["hosts/client/x.ts", 'import { createControlPlane } from "../../core/control-plane.ts";'],
  ["hosts/composition/x.ts", 'import { portside } from "../http/index.ts";'],
  ["test/contracts/x.ts", 'import { createMemoryProvider } from "../../adapters/memory/index.ts";'],
  ["test/simulation/x.ts", 'import { createLocalProvider } from "../../adapters/local/index.ts";'],
  ["elsewhere/x.ts", ""],
];

const legal: readonly (readonly [file: string, code: string])[] = [
  ["core/result.ts", 'export { ok } from "neverthrow";'],
  ["core/domain/x.ts", 'import { z } from "zod";\nimport { issue } from "./issue.ts";'],
  ["core/use-cases/x.ts", 'import type { Clock } from "../ports/system.ts";'],
  ["adapters/local/x.ts", 'import { createIdentity } from "../jwt/index.ts";\nimport { join } from "node:path";'],
  ["hosts/composition/x.ts", 'const local = await import("../../adapters/local/index.ts");'],
  ["hosts/cli/x.ts", 'const { createServer } = await import("../http/server.ts");'],
];

describe("the rules find violations", () => {
  test.each(seeded)("%s: %s", (file, code) => expect(violationsOf(file, code)).toHaveLength(1));
  test.each(legal)("%s may: %s", (file, code) => expect(violationsOf(file, code)).toEqual([]));
});

test.each([
  "core/domain",
  "core/ports",
  "core/use-cases",
  "adapters/memory",
  "adapters/local",
  "adapters/cloud",
  "adapters/shared",
  "adapters/jwt",
  "adapters/postgres",
  "adapters/stripe",
  "hosts/http",
  "hosts/cli",
  "hosts/client",
  "hosts/composition",
  "adapters/decorators/metrics",
  "adapters/decorators/tracing",
  "test/contracts",
  "test/simulation",
])("%s has files", (folder) =>
  expect(sources.filter((file) => file.startsWith(`${folder}/`)).length).toBeGreaterThan(2),
);

describe("all files follow the rules", () => {
  test.each(sources)("%s", (file) => expect(violationsOf(file, readFileSync(file, "utf8"))).toEqual([]));
});
