/**
 * Two platforms in one process, each with a separate engine: they use the same account and names without affecting each
 * other.
 */
import { expect, test } from "vitest";
import { createMemoryProvider } from "../../adapters/memory/index.ts";
import { createControlPlane } from "../../core/control-plane.ts";
import { helloServer, nodeSource } from "../support/archives/archives.ts";
import { principalOf, startLocal, type TestPlatform } from "../support/providers/local-platform.ts";

const serverSource = (text: string) =>
  nodeSource(`console.log(${JSON.stringify(`${text} is up`)});${helloServer(text)}`);
const answerOf = async (url: string) => (await fetch(url)).text();

const messagesOf = async ({ controlPlane }: TestPlatform): Promise<string[]> => {
  const page = await controlPlane.readLogs(principalOf("acme"), { deployment_name: "app", limit: 100 });
  return page._unsafeUnwrap().logs.map(({ message }) => message);
};

test("deploying, logging, deleting and stopping on one platform does not affect the other", async () => {
  const one = await startLocal();
  await using two = await startLocal();
  const [first, second] = await Promise.all([one.up(serverSource("one")), two.up(serverSource("two"))]);
  expect(await answerOf(first)).toBe("one");
  expect(await answerOf(second)).toBe("two");
  expect(await messagesOf(one)).toContain("one is up");
  expect(await messagesOf(one)).not.toContain("two is up");
  (await one.controlPlane.deleteDeployment(principalOf("acme"), { name: "app" }))._unsafeUnwrap();
  expect(await answerOf(second)).toBe("two");
  await one[Symbol.asyncDispose]();
  expect(await answerOf(second)).toBe("two");
  expect(await answerOf(await two.up(serverSource("two again")))).toBe("two again");
});

test("a platform in memory next to one with an engine has separate state", async () => {
  await using local = await startLocal();
  const memory = createControlPlane(createMemoryProvider().ports);
  const url = await local.up(serverSource("here"));
  expect((await memory.listDeployments(principalOf("acme")))._unsafeUnwrap()).toEqual([]);
  await memory.close();
  expect(await answerOf(url)).toBe("here");
});
