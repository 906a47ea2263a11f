/** `portside status` against the real HTTP API over the memory provider. */
import { expect, test } from "vitest";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { portside } from "../../../support/cli/terminal.ts";
import { serveMemory } from "../../../support/http/api.ts";

test("prints the revision, the release, the schedule and the last deploy", async () => {
  await using api = await serveMemory();
  const fields = {
    function_name: "my-app",
    volumes: '{"/data": "files"}',
    schedule: "0 9 * * *",
    env: '{"A": "s3cret"}',
  };
  await api.deploy(fields, nodeSource(helloServer()));
  const env = { PORTSIDE_URL: api.url, PORTSIDE_API_KEY: await api.key() };
  const { code, stdout } = await portside(["status", "my_app"], { env });
  expect(code).toBe(0);
  expect(stdout).toMatch(/^status +READY$/m);
  expect(stdout).toMatch(/^revision +my-app-00001 \(release 1\)$/m);
  expect(stdout).toMatch(/^env +A$/m);
  expect(stdout).toMatch(/^volumes +\/data → files$/m);
  expect(stdout).toMatch(/^schedule +0 9 \* \* \* \(UTC\)\n +next: .*\n +last: -$/m);
  expect(stdout).toMatch(/^last deploy +DONE, \d+ s ago, \w+\n +Revision my-app-00001 serves all traffic$/m);
  expect(stdout).toContain("No instances are running.");
  expect(stdout).not.toContain("s3cret");
  const json = JSON.parse((await portside(["status", "my-app", "--json"], { env })).stdout);
  expect(json).toMatchObject({ name: "my-app", release: 1, instances: [] });
});

test("exits with 1 for an unknown deployment, and with 2 without a name", async () => {
  await using api = await serveMemory();
  const env = { PORTSIDE_URL: api.url, PORTSIDE_API_KEY: await api.key() };
  expect(await portside(["status", "nothing"], { env })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("does not exist"),
  });
  expect(await portside(["status"], { env })).toMatchObject({ code: 2 });
});
