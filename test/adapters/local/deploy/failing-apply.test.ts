/** The engine cannot apply a rollout that the state already contains. */
import { expect, onTestFinished, test, vi } from "vitest";
import { LocalEngine } from "../../../../adapters/local/engine/engine.ts";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { startLocal } from "../../../support/providers/local-platform.ts";

test("a rollout succeeds if the engine serves the stored revision only after a failure", async () => {
  // Without polls of the state, the test knows the order of the calls.
  const watch = vi.spyOn(LocalEngine.prototype, "watch").mockImplementation(() => undefined);
  onTestFinished(() => watch.mockRestore());
  await using platform = await startLocal({ runner: "process" });
  const url = await platform.up(nodeSource(helloServer("old")));
  const apply = LocalEngine.prototype.apply;
  let calls = 0;
  const spy = vi.spyOn(LocalEngine.prototype, "apply").mockImplementation(function (this: LocalEngine) {
    // The first call of a rollout precedes the start, and the second one follows the commit.
    return ++calls === 2 ? Promise.reject(new Error("too many open files")) : apply.call(this);
  });
  onTestFinished(() => spy.mockRestore());
  const records = await platform.deploy(nodeSource(helloServer("new")));
  const text = await (await fetch(url, { headers: { connection: "close" } })).text();
  expect([records.at(-1)?.status, text]).toEqual(["DONE", "new"]);
});
