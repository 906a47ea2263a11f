/** The page of the HTTP API has a call of each endpoint, and a platform accepts each call. */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sourceOf } from "../support/archives/archives.ts";
import { serveMemory } from "../support/http/api.ts";
import { endpointNames } from "../support/http/endpoint-calls.ts";
import { needs } from "../support/vitest/machine.ts";

const page = readFileSync("docs/reference/api.md", "utf8");
const sections = page
  .split(/^### /m)
  .slice(1)
  .map((text) => ({
    name: text.split("\n")[0] as string,
    command: /```console\n\$ (.*?)\n```/s.exec(text)?.[1] as string,
  }));

let api: Awaited<ReturnType<typeof serveMemory>>;
let folder: string;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  api = await serveMemory();
  folder = mkdtempSync(join(tmpdir(), "portside-calls-"));
  writeFileSync(join(folder, "source.tar.gz"), sourceOf({ "index.js": "run()" }));
  env = { PATH: process.env["PATH"], PORTSIDE_URL: api.url, PORTSIDE_API_KEY: await api.key() };
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

test("every endpoint has a section", () => {
  expect(sections.map(({ name }) => name).sort()).toEqual([...endpointNames].sort());
});

/**
 * The expected status. Some examples name an id, a link or an object that does not exist, or a volume that is not
 * deleted, or have no session.
 */
const statusOf = (name: string): string => {
  if (/cancel|:deploy_id|download|delete-object|revoke|upload-resume/.test(name)) return "404";
  if (name.includes("sign-in")) return "403";
  return /restore|sign-out/.test(name) ? "409" : "200";
};

test.for(sections)("$name", async ({ name, command }, context) => {
  needs(context, "curl");
  await api.call("POST", "/v1/volume/create", { json: { name: "my-volume" } });
  // A rollback and a comparison need two releases, and a fire needs a schedule. Other sections delete the deployment.
  for (const text of /release|rollback|restart|env$|fire/.test(name) ? ["first", "second"] : [])
    await api.deploy({ function_name: "my-app", volumes: "{}", schedule: "0 9 * * *" }, sourceOf({ "index.js": text }));
  const line = `${command} -sS -o /dev/null -w '%{http_code}'`;
  const { stdout } = await promisify(execFile)("sh", ["-c", line], { cwd: folder, env });
  expect(stdout).toBe(statusOf(name));
});
