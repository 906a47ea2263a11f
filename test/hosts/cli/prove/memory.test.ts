/** `portside prove` on the memory provider, which runs no services. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folderWith } from "../../../support/archives/folders.ts";
import { portside } from "../../../support/cli/terminal.ts";
import { serveMemory, type TestApi } from "../../../support/http/api.ts";

const signedIn = async (api: TestApi) => ({ PORTSIDE_URL: api.url, PORTSIDE_API_KEY: await api.key() });

/** The names that the account has. */
const namesOf = async (api: TestApi): Promise<string[]> => {
  const lists = await Promise.all(["deployment", "volume"].map((kind) => api.call("GET", `/v1/${kind}/list`)));
  return lists.flatMap(({ json }) => json.map(({ name }: { name: string }) => name));
};

test("passes what memory supports, skips the rest with the provider's reason, and leaves nothing", async () => {
  await using api = await serveMemory();
  using folder = folderWith();
  const env = await signedIn(api);
  const ran = await portside(["prove", "-y", "--json", "report.json"], { env, cwd: folder.path });
  expect(ran).toMatchObject({ code: 0 });
  const report = JSON.parse(readFileSync(join(folder.path, "report.json"), "utf8"));
  expect(report).toMatchObject({ passed: true, provider: "memory", url: api.url });
  const results = Object.fromEntries(report.steps.map(({ step, result }: Record<string, string>) => [step, result]));
  expect(results).toEqual({
    deploy: "pass",
    "first answer": "skipped",
    "redeploy under requests": "skipped",
    "env change": "pass",
    logs: "skipped",
    volume: "pass",
    mount: "skipped",
    "empty volume": "pass",
    schedule: "skipped",
    sql: "pass",
    "failing deploy": "skipped",
    delete: "pass",
  });
  for (const { result, reason } of report.steps)
    expect(reason).toBe(result === "skipped" ? "the memory provider simulates services; nothing runs" : undefined);
  expect(report.retained).toHaveLength(3);
  expect(await namesOf(api)).toEqual([]);
  await api.memory.close();
});
