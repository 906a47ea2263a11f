/**
 * A provider without credentials, as `--provider PATH` loads it: Portside stores its keys and issuer in the data
 * folder.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { startServing } from "../../../../hosts/cli/server/serving.ts";
import { buildPlatform } from "../../../../hosts/composition/build-platform.ts";
import { resolveSettings } from "../../../../hosts/composition/settings.ts";
import { AUDIENCE, goodClaims, ISSUER, issuerKey, serveKeys, signed } from "../../../support/accounts/token-issuer.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { portside } from "../../../support/cli/terminal.ts";
import { recordingLogger } from "../../../support/logs/silent-logger.ts";

const repository = join(import.meta.dirname, "../../../..");
const MODULE = `import { createMemoryProvider } from "${repository}/adapters/memory/index.ts";
export const createProvider = () => ({ provider: createMemoryProvider().provider });
`;

test("accepts keys after a restart, and tokens of the configured issuer", async () => {
  using folder = folderWith({ "provider.ts": MODULE });
  const key = await issuerKey("one");
  await using server = await serveKeys({ keys: [key] });
  const token = await signed(goodClaims(Math.floor(Date.now() / 1000)), key);
  const settings = resolveSettings(
    {
      dataDir: join(folder.path, "data"),
      logLevel: "silent",
      provider: join(folder.path, "provider.ts"),
      jwtIssuer: ISSUER,
      jwtAudience: AUDIENCE,
      jwtJwks: server.url.href,
    },
    {},
  );
  const first = await buildPlatform(settings);
  const made = (await first.ports.identity.keys.create("acme" as AccountId, "laptop"))._unsafeUnwrap();
  await first.close();

  const second = await buildPlatform(settings);
  const accountOf = async (kind: "api_key" | "bearer", value: string) =>
    (await second.ports.identity.authenticator.authenticate({ kind, value }))._unsafeUnwrap().account;
  expect(await accountOf("api_key", made.key)).toBe("acme");
  expect(await accountOf("bearer", token)).toBe("id.example/tenant:user-1");
  await second.close();
});

test("in memory, the first start creates a key, and keys created in the data folder work", async () => {
  using folder = folderWith();
  const settings = resolveSettings({ dataDir: folder.path, logLevel: "silent", provider: "memory", port: "0" }, {});
  const serving = await startServing(settings);
  try {
    const env = { PORTSIDE_DATA_DIR: folder.path };
    const made = await portside(["keys", "create", "--account", "acme", "--json"], { env });
    for (const key of [serving.apiKey, JSON.parse(made.stdout).key]) {
      const headers = { "x-api-key": key };
      expect((await fetch(`${serving.url}/v1/deployment/list`, { headers })).status).toBe(200);
    }
  } finally {
    await serving.stop();
  }
});

test("states the data folder of a new key", async () => {
  using folder = folderWith();
  const { stdout, stderr } = await portside(["keys", "create", "--account", "acme", "--data-dir", folder.path]);
  expect(stdout).toMatch(/^psk_\w+\n$/);
  expect(stderr).toContain(`Only a server with the data folder '${folder.path}' accepts the key.`);
});

const MEMORY = "/dev/shm";

test.runIf(existsSync(MEMORY))("warns that a RAM disk loses keys, and suggests --keys-database", async () => {
  using folder = folderWith({ "provider.ts": MODULE });
  const dataDir = mkdtempSync(join(MEMORY, "portside-test-"));
  try {
    const { logger, logged } = recordingLogger();
    const settings = resolveSettings({ dataDir, logLevel: "silent", provider: join(folder.path, "provider.ts") }, {});
    const platform = await buildPlatform(settings, { logger });
    await platform.close();
    expect(logged.join("\n")).toMatch(
      /is on an in-memory file system\. A restart deletes them\. Store them in PostgreSQL with --keys-database\./,
    );
  } finally {
    rmSync(dataDir, { recursive: true });
  }
});

test("rejects --source-spool bucket if the provider has no bucket", async () => {
  using folder = folderWith();
  const settings = resolveSettings({ dataDir: folder.path, logLevel: "silent", sourceSpool: "bucket" }, {});
  await expect(buildPlatform(settings)).rejects.toThrow(
    "--source-spool bucket works only with the providers gcp and aws",
  );
});
