/** A build that prints endlessly blocks no other account, and its output is bounded. */
import { expect, test } from "vitest";
import { bytesOf, helloServer, nodeSource, sourceOf } from "../../../support/archives/archives.ts";
import { principalOf, runners, startLocal, type TestPlatform } from "../../../support/providers/local-platform.ts";
import { needs } from "../../../support/vitest/machine.ts";

const noisy = sourceOf({
  "package.json": JSON.stringify({ scripts: { build: "yes", start: "node server.js" } }),
  "server.js": helloServer(),
});

const beginNoisy = async ({ controlPlane }: TestPlatform) => {
  const principal = principalOf("noisy");
  const archive = (await controlPlane.receiveSource(principal, bytesOf(noisy)))._unsafeUnwrap();
  const fields = { function_name: "noisy", volumes: {} };
  return (await controlPlane.deploy(principal, { fields, archive }))._unsafeUnwrap();
};

test.for(runners)("other accounts are served while a build prints endlessly (%s)", async (runner, context) => {
  needs(context, "npm");
  await using platform = await startLocal({ runner });
  const url = await platform.up(nodeSource(helloServer("hello")), {}, "quiet");
  const run = await beginNoisy(platform);
  const records: string[] = [];
  let ended = false;
  const followed = (async () => {
    for await (const { message } of run.follow()) records.push(message);
    ended = true;
  })();
  await expect.poll(() => records.some((message) => message.startsWith("The build output is too long"))).toBe(true);
  const before = process.memoryUsage().rss;
  for (let requests = 0; requests < 100; requests++) expect(await (await fetch(url)).text()).toBe("hello");
  expect(ended).toBe(false);
  // Without backpressure, the build would print hundreds of megabytes meanwhile.
  expect(process.memoryUsage().rss - before).toBeLessThan(150 << 20);
  const cancelled = await platform.controlPlane.cancelDeploy(principalOf("noisy"), { deploy_id: run.deployId });
  expect(cancelled.isOk()).toBe(true);
  await followed;
  expect(records.length).toBeLessThan(22_000);
});

test.for(runners)(
  "ends a build that prints endlessly at its deadline, with its last lines (%s)",
  async (runner, context) => {
    needs(context, "npm");
    await using platform = await startLocal({ runner }, { deployLimits: { buildDeadlineMs: 4000 } });
    const records = await Array.fromAsync((await beginNoisy(platform)).follow());
    expect(records.at(-1)).toMatchObject({ status: "ERROR", reason: "build_timeout" });
    expect(records.at(-1)?.log_tail).toEqual(Array.from({ length: 20 }, () => "y"));
    expect(records.map(({ seq }) => seq)).toEqual(records.map((_, index) => index + 1));
    expect(records.length).toBeLessThan(22_000);
  },
);
