/** `portside cron run` against the real HTTP API over the memory provider. */
import { expect, test } from "vitest";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { portside } from "../../../support/cli/terminal.ts";
import { serveMemory } from "../../../support/http/api.ts";

test("starts a fire, which the status shows", async () => {
  await using api = await serveMemory();
  const env = { PORTSIDE_URL: api.url, PORTSIDE_API_KEY: await api.key() };
  const deploy = (schedule: string) =>
    api.deploy({ function_name: "my-app", volumes: "{}", schedule }, nodeSource(helloServer()));
  await deploy("0 9 * * *");
  expect(await portside(["cron", "run", "my_app"], { env })).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /^Started run \w+ of the schedule\. Run 'portside status my-app' to see the outcome\.\n$/,
    ),
  });
  expect((await portside(["status", "my-app"], { env })).stdout).toMatch(/last: no answer, \d+ s ago/);
  await deploy("");
  expect(await portside(["cron", "run", "my-app"], { env })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("has no schedule"),
  });
  expect(await portside(["cron", "start", "my-app"], { env })).toMatchObject({ code: 2 });
});
