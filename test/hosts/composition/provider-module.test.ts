/** Provider modules: one outside the repository, loaded by its path, and the registered ones. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { createManualClock } from "../../../adapters/memory/index.ts";
import type { Finding } from "../../../core/domain/wire/check.ts";
import { buildPlatform, type PlatformOverrides, resolveSettings } from "../../../hosts/composition/index.ts";
import { providerNames } from "../../../hosts/composition/providers/index.ts";
import { type Folder, folderWith } from "../../support/archives/folders.ts";
import { portside } from "../../support/cli/terminal.ts";
import { recordingLogger } from "../../support/logs/silent-logger.ts";

const repository = join(import.meta.dirname, "../../..");

/** The memory provider with its own `check`. */
const MODULE = `
import { z } from "${import.meta.resolve("zod")}";
import { createMemoryProvider } from "${repository}/adapters/memory/index.ts";
import { errAsync, fail, pass, unavailable } from "${repository}/core/ports/index.ts";

export default {
  name: "acme",
  configSchema: z.strictObject({
    endpoint: z.url(),
    retries: z.int().max(5, "must be at most 5").default(2),
    regions: z.array(z.string()).default([]),
  }),
  load: async ({ endpoint, retries }, { clock, ids, logger }) => {
    const { provider, close } = createMemoryProvider({ clock, ids, logger });
    const check = () => errAsync(unavailable(endpoint + " failed " + retries + " times at " + clock.now(), 5));
    return {
      provider: { ...provider, check },
      close: async () => {
        await close();
        logger.info("acme closed");
      },
    };
  },
  doctor: async function* ({ endpoint }, environment) {
    yield pass("endpoint", endpoint);
    if (environment.ACME_TOKEN === undefined) yield fail("token", "ACME_TOKEN is not set", "acme login");
  },
};
`;

const GOOD = { endpoint: "https://acme.example" };

const folderFor = (section: unknown, code = MODULE): { readonly folder: Folder; readonly path: string } => {
  const folder = folderWith({ "acme.ts": code });
  const path = join(folder.path, "acme.ts");
  folder.write({ "data/portside.config.json": JSON.stringify({ provider: path, [path]: section }) });
  return { folder, path };
};

const build = (folder: Folder, overrides: PlatformOverrides, flags: Readonly<Record<string, string>> = {}) =>
  buildPlatform(resolveSettings({ dataDir: join(folder.path, "data"), logLevel: "silent", ...flags }, {}), overrides);

test("loads a module by its path, with its section of the configuration file and the embedder's overrides", async () => {
  const { folder } = folderFor(GOOD);
  using _folder = folder;
  const { logger, logged } = recordingLogger();
  const clock = createManualClock();
  const platform = await build(folder, { clock, logger });
  const checked = await platform.controlPlane.check();
  expect(checked._unsafeUnwrapErr().message).toBe(`https://acme.example failed 2 times at ${clock.now()}`);
  expect(platform.controlPlane.capabilities().provider).toBe("memory");
  await platform.close();
  expect(logged).toContain("acme closed {}");
});

test("replaces a part of the module's provider", async () => {
  const { folder } = folderFor(GOOD);
  using _folder = folder;
  const { logger } = recordingLogger();
  const platform = await build(folder, {
    logger,
    provider: (chosen) => ({ ...chosen, capabilities: { ...chosen.capabilities, provider: "acme" } }),
  });
  expect(platform.ports.provider.capabilities.provider).toBe("acme");
  expect(platform.loaded.provider.capabilities.provider).toBe("memory");
  await platform.close();
});

test("closes the provider if a later part fails to start", async () => {
  const { folder } = folderFor(GOOD);
  using _folder = folder;
  const { logger, logged } = recordingLogger();
  const started = build(folder, { logger }, { keysDatabase: "postgres://127.0.0.1:1/keys" });
  await expect(started).rejects.toThrow("The keys database (PORTSIDE_KEYS_DATABASE) cannot be used");
  expect(logged).toContain("acme closed {}");
});

test.each([
  [{}, (path: string) => `'endpoint' in section '${path}' of the configuration file: Invalid input: expected string`],
  [{ endpoint: "acme" }, (path: string) => `'endpoint' in section '${path}' of the configuration file: Invalid URL.`],
  [
    { ...GOOD, retries: 9 },
    (path: string) => `'retries' in section '${path}' of the configuration file must be at most 5.`,
  ],
  [
    { ...GOOD, regions: ["eu", 1] },
    (path: string) => `'regions.1' in section '${path}' of the configuration file: Invalid input: expected string`,
  ],
  [
    { ...GOOD, endpoints: [] },
    (path: string) => `Section '${path}' of the configuration file: Unrecognized key: "endpoints".`,
  ],
])("names the section, the field and the reason for the configuration %j", async (section, message) => {
  const { folder, path } = folderFor(section);
  using _folder = folder;
  await expect(build(folder, {})).rejects.toThrow(message(path));
});

test("reports every invalid field of a section", async () => {
  const { folder, path } = folderFor({ endpoint: "acme", retries: 9 });
  using _folder = folder;
  await expect(build(folder, {})).rejects.toThrow(
    `'endpoint' in section '${path}' of the configuration file: Invalid URL.\n'retries' in section '${path}'`,
  );
});

test("doctor runs the checks of a module with its validated configuration", async () => {
  const { folder } = folderFor(GOOD);
  using _folder = folder;
  const args = ["doctor", "--data-dir", join(folder.path, "data"), "--json"];
  const lacking = await portside(args);
  const findings = lacking.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Finding);
  expect(findings).toEqual([
    { what: "endpoint", verdict: "ok", words: "https://acme.example" },
    { what: "token", verdict: "missing", words: "ACME_TOKEN is not set", fix: "acme login" },
  ]);
  expect(lacking.code).toBe(1);
  expect((await portside(args, { env: { ACME_TOKEN: "t" } })).code).toBe(0);
});

test("doctor rejects an invalid section", async () => {
  const { folder, path } = folderFor({});
  using _folder = folder;
  const { code, stderr } = await portside(["doctor", "--data-dir", join(folder.path, "data")]);
  expect([code, stderr]).toEqual([1, expect.stringContaining(`'endpoint' in section '${path}'`)]);
});

test.each([
  ["export const other = 1;", "is not a provider module"],
  ["export default { name: 'acme', load: async () => ({}) };", "is not a provider module"],
])("rejects %j", async (code, message) => {
  const { folder, path } = folderFor({}, code);
  using _folder = folder;
  await expect(build(folder, {})).rejects.toThrow(`${path} ${message}`);
});

test("rejects a path without a file", async () => {
  using folder = folderWith();
  const path = join(folder.path, "none.js");
  await expect(build(folder, {}, { provider: path })).rejects.toThrow(`The provider module ${path} does not exist.`);
});

test("an unknown provider's message lists the registered ones", async () => {
  using folder = folderWith();
  await expect(build(folder, {}, { provider: "azure" })).rejects.toThrow(
    "Unknown provider 'azure'. Choose local, gcp, aws, memory, or a module's path such as ./my-provider.js.",
  );
  expect(providerNames).toEqual(["local", "gcp", "aws", "memory"]);
});

test("a section of a registered provider is validated in the same way", async () => {
  using folder = folderWith();
  folder.write({ "data/portside.config.json": JSON.stringify({ aws: { vpc: 1, vpcs: [] } }) });
  await expect(build(folder, {}, { provider: "aws", awsRegion: "eu-west-1" })).rejects.toThrow(
    `'vpc' in section 'aws' of the configuration file: Invalid input: expected string, received number.\nSection 'aws' of the configuration file: Unrecognized key: "vpcs".`,
  );
});

/** Prints the packages that the process has loaded. */
const LISTING = `data:text/javascript,${encodeURIComponent(`
import { registerHooks } from "node:module";
const packages = new Set();
registerHooks({
  resolve: (specifier, context, next) => {
    const found = next(specifier, context);
    packages.add(/node_modules\\/((@[^/]+\\/)?[^/]+)/.exec(found.url)?.[1]);
    return found;
  },
});
process.on("exit", () => console.error(JSON.stringify([...packages])));
`)}`;

const packagesLoadedBy = async (script: string, ...args: readonly string[]): Promise<string[]> => {
  const path = fileURLToPath(new URL(`../../../hosts/cli/${script}`, import.meta.url));
  const { stderr } = await promisify(execFile)(process.execPath, ["--import", LISTING, path, ...args]);
  return JSON.parse(stderr.trim().split("\n").at(-1) ?? "") as string[];
};

test("the help loads no package of a provider", async () => {
  const packages = await packagesLoadedBy("main.ts", "serve", "--help");
  expect(packages).toContain("zod");
  expect(
    packages.filter((name) => /^@(google-cloud|aws-sdk)|^(inversify|dockerode|undici|stripe|jose)$/.test(name)),
  ).toEqual([]);
});

test("the engine's process loads no package that only the server needs", async () => {
  const packages = await packagesLoadedBy("server/serve-engine.ts");
  expect(packages).toContain("undici");
  expect(
    packages.filter((name) => /^(inversify|fastify|@opentelemetry\/api|dockerode|tinypool|stripe|jose)$/.test(name)),
  ).toEqual([]);
});

test("the supervisor loads no package", async () => {
  const packages = await packagesLoadedBy("main.ts", "serve", "--supervise", "--help");
  expect(packages.filter((name) => name !== null)).toEqual([]);
});
