import { expect, test } from "vitest";
import { helloServer, nodeSource } from "../../support/archives/archives.ts";
import { runners, startLocal } from "../../support/providers/local-platform.ts";

test.each(runners)("builds, starts and calls a Node.js source (%s)", async (runner) => {
  await using platform = await startLocal({ runner });
  const url = await platform.up(nodeSource(helloServer("hi")));
  expect(await (await fetch(url)).text()).toBe("hi");
});
