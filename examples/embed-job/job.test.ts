import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { runJob } from "./job.ts";

test("deploys a folder and calls the service; throws the platform's message on failure", async (context) => {
  const dataDir = mkdtempSync(join(tmpdir(), "embed-job-"));
  context.after(() => rmSync(dataDir, { recursive: true, force: true }));
  const said: string[] = [];
  const folder = join(import.meta.dirname, "..", "hello");
  const options = { folder, dataDir, say: (line: string) => void said.push(line) };
  assert.equal(await runJob({ ...options, name: "nightly" }), "Hello from Portside!\n");
  assert.match(said.at(-1) ?? "", /^DONE /);
  await assert.rejects(runJob({ ...options, name: "not a name" }), /function_name/);
});
