/**
 * Every provider runs the same contract and end-to-end cases, except those that its capabilities exclude. The table
 * `leftOut` has the number of excluded cases.
 */
import { readdirSync, readFileSync } from "node:fs";
import { afterAll, describe, expect, test } from "vitest";
import { awsCapabilities } from "../../adapters/aws/capabilities.ts";
import { gcpCapabilities } from "../../adapters/gcp/capabilities.ts";
import { createLocalProvider } from "../../adapters/local/index.ts";
import { memoryCapabilities } from "../../adapters/memory/capabilities.ts";
import type { Capabilities, Feature } from "../../core/domain/wire/capabilities.ts";
import { appliesTo } from "../contracts/harness.ts";
import { providerCases } from "../contracts/index.ts";
import { e2eCases } from "../e2e/cases.ts";
import { reasonsAgainst } from "../e2e/harness.ts";
import { awsConfig } from "../fakes/aws/test-config.ts";
import { gcpConfig } from "../fakes/gcp/test-project.ts";
import { folderWith } from "../support/archives/folders.ts";

const folder = folderWith();
const local = await createLocalProvider({ dataDir: folder.path, runner: "process", ingressPort: 0 });
await local.close();
afterAll(() => folder[Symbol.dispose]());

const records: Readonly<Record<string, Capabilities>> = {
  memory: memoryCapabilities,
  local: local.provider.capabilities,
  gcp: gcpCapabilities({ ...gcpConfig, logDataset: "logs", billingTable: "billing.costs" }),
  aws: awsCapabilities({ ...awsConfig, athenaWorkgroup: "portside", logTable: "a.b.c", billingTable: "a.b.d" }),
};

type Change = readonly [path: string, changed: Capabilities];

/** Copies of the capability record, each with one entry inverted. */
const changesOf = (record: Capabilities): Change[] => {
  const opposite = (value: unknown): unknown => {
    if (typeof value === "boolean") return !value;
    if (typeof value === "number") return value === 0 ? 1 : 0;
    if (value === "none") return "full";
    const { supported } = (value ?? {}) as Partial<Feature>;
    return supported === undefined ? undefined : { supported: !supported, reason: "the opposite" };
  };
  const walk = (value: object, path: readonly string[]): Change[] =>
    Object.entries(value).flatMap(([key, one]) => {
      const here = [...path, key];
      const other = opposite(one);
      if (other === undefined) return typeof one === "object" && one !== null ? walk(one, here) : [];
      const changed = structuredClone(record);
      let at = changed as unknown as Record<string, Record<string, never>>;
      for (const step of path) at = at[step] as never;
      at[key] = other as never;
      return [[here.join("."), changed]];
    });
  return walk(record, []);
};

/** The number of contract cases that each entry of the record excludes. */
const leftOut: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  memory: {
    runs: 19,
    "names.remembers_freed": 1,
    "builders.dockerfile": 1,
    "volumes.flat_namespace": 1,
    busy_leases: 1,
  },
  local: {
    runs: 1,
    "names.remembers_freed": 1,
    "volumes.flat_namespace": 1,
    domains: 13,
    // Plain processes on this machine, because bubblewrap adds capabilities. A container engine is optional.
    "volumes.read_only": 1,
    isolation: 1,
    ...(local.provider.capabilities.builders.dockerfile.supported ? { "builders.dockerfile": 1 } : {}),
  },
  gcp: {
    runs: 1,
    "names.remembers_freed": 1,
    "builders.dockerfile": 1,
    "volumes.flat_namespace": 1,
    "sql.lag_seconds": 1,
    "volumes.conditional_uploads": 1,
    idle: 1,
    busy_leases: 1,
    instance_list: 3,
    "cron.fire": 1,
    "logs.histogram": 3,
    domains: 13,
  },
  aws: {
    runs: 1,
    "names.remembers_freed": 1,
    "builders.dockerfile": 1,
    "volumes.flat_namespace": 1,
    "sql.lag_seconds": 1,
    "volumes.head_downloads": 1,
    "volumes.unsized_uploads": 1,
    idle: 1,
    busy_leases: 1,
    instance_list: 3,
    "cron.fire": 1,
    "logs.histogram": 3,
    domains: 13,
  },
};

/** Folders of adapters that are not complete providers: vendors of one port, decorators, and shared code. */
const parts = ["acme", "cloud", "decorators", "jwt", "postgres", "shared", "stripe"];

test("covers every provider", () => {
  const folders = readdirSync("adapters").filter((name) => !parts.includes(name));
  expect(Object.keys(records).sort()).toEqual(folders.sort());
});

const featureAt = (record: Capabilities, path: string): Partial<Feature> =>
  path.split(".").reduce((at: never, step) => at[step], record as never) ?? {};

describe.each(Object.entries(records))("%s", (provider, record) => {
  test("exactly one entry of the record excludes a contract case, with a reason if the feature is missing", () => {
    const by: Record<string, number> = {};
    for (const one of providerCases) {
      if (appliesTo(one, record)) continue;
      const { group, name } = one;
      const paths = changesOf(record).flatMap(([path, changed]) => (appliesTo(one, changed) ? [path] : []));
      expect(paths, `${group}: ${name}`).toHaveLength(1);
      const [path = ""] = paths;
      by[path] = (by[path] ?? 0) + 1;
      const feature = featureAt(record, path);
      if (feature.supported === false) expect(feature.reason?.length).toBeGreaterThan(10);
    }
    expect(by).toEqual(leftOut[provider]);
  });

  test("an end-to-end case is excluded only if the provider runs no services", () => {
    const reasons = e2eCases.flatMap((one) => reasonsAgainst(one, record));
    expect(new Set(reasons)).toEqual(new Set(record.runs.supported ? [] : [record.runs.reason]));
    const out = e2eCases.filter((one) => reasonsAgainst(one, record).length > 0);
    expect(out).toHaveLength(record.runs.supported ? 0 : 8);
  });
});

/** The contents of the files in a folder that have this extension, including subfolders. */
const textsIn = (folder: string, ending: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(ending))
    .map((name) => readFileSync(`${folder}/${name}`, "utf8"));

test.each(["gcp", "aws"])("%s runs every cloud suite exactly once", (cloud) => {
  const files = textsIn(`test/adapters/${cloud}`, ".test.ts");
  const suites = textsIn("test/clouds", ".ts").flatMap((text) =>
    [...text.matchAll(/^export const (\w+Tests)\b/gm)].map(([, suite]) => suite),
  );
  expect(suites.length).toBeGreaterThan(12);
  for (const suite of [...suites, "e2eTests"])
    expect(
      files.filter((text) => text.includes(`${suite}(`)),
      suite,
    ).toHaveLength(1);
});
