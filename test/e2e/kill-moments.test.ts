/** kill -9 at each step between the traffic switch and the record of a deploy's end. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, test } from "vitest";
import type { DeployEvent } from "../../core/domain/deploy/events.ts";
import { folderWith } from "../support/archives/folders.ts";
import { moments } from "../support/crashes/kill-moment-child.ts";
import { principalOf, startLocalIn } from "../support/providers/local-platform.ts";

const child = join(import.meta.dirname, "..", "support", "crashes", "kill-moment-child.ts");

/** Runs the server until it has killed itself; returns the records that its client received. */
const runUntilKilled = async (folder: string, moment: string): Promise<DeployEvent[]> => {
  const server = spawn(process.execPath, [child, folder, moment], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(server, "exit");
  const lines = await Array.fromAsync(createInterface({ input: server.stdout }));
  expect(await ended).toEqual([null, "SIGKILL"]);
  return lines.map((line) => JSON.parse(line) as DeployEvent);
};

describe.concurrent("a deploy is DONE if the server is killed after traffic moved", () => {
  test.each(moments)("killed when: %s", async (moment) => {
    using folder = folderWith();
    const seen = await runUntilKilled(folder.path, moment);
    const deployId = seen.at(-1)?.deploy_id;
    expect(
      seen.filter(({ status }) => status === "DONE").length,
      "the client received DONE from the first deploy only",
    ).toBe(1);

    await using platform = await startLocalIn(folder.path, { runner: "process" });
    const acme = principalOf("acme");
    const [listed] = (await platform.controlPlane.listDeployments(acme))._unsafeUnwrap();
    expect(listed).toMatchObject({ status: "READY", revision: "app-00002" });
    expect(listed?.last_deploy).toMatchObject({ deploy_id: deployId, status: "DONE", reason: null });
    expect(listed?.last_deploy?.finished_at).not.toBeNull();
    expect(await (await fetch(listed?.url as string)).text()).toBe("new");
    const page = await platform.controlPlane.readLogs(acme, { deployment_name: "app", limit: 1000 });
    const ends = page
      ._unsafeUnwrap()
      .logs.filter(({ log_name }) => log_name === "platform")
      .map(({ message }) => JSON.parse(message))
      .filter((entry) => entry.deploy_id === deployId && ["DONE", "ERROR"].includes(entry.status));
    expect(ends).toEqual([expect.objectContaining({ status: "DONE" })]);
  });
});
