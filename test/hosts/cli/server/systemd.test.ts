/**
 * `portside serve` under a unit with `Type=notify`. In place of systemd, a program receives the messages at
 * $NOTIFY_SOCKET: https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { folderWith } from "../../../support/archives/folders.ts";
import { startCli } from "../../../support/cli/cli-process.ts";
import { serve } from "../../../support/http/served.ts";
import { needs } from "../../../support/vitest/machine.ts";

/** Prints each message as a line of JSON. Closes the descriptors that come with a message, as systemd does. */
const RECEIVER = `
import array, json, os, socket, sys
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind(sys.argv[1])
print(json.dumps("listening"), flush=True)
while True:
    message, ancillary, _, _ = receiver.recvmsg(4096, 4096)
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors = array.array("i")
            descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
            for one in descriptors:
                os.close(one)
    print(json.dumps(message.decode()), flush=True)
`;

const receive = async (path: string): Promise<string[]> => {
  const child = spawn("python3", ["-c", RECEIVER, path], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill());
  const messages: string[] = [];
  const lines = createInterface({ input: child.stdout });
  await once(lines, "line");
  lines.on("line", (line) => messages.push(JSON.parse(line)));
  return messages;
};

const isAlive = (pid: number): boolean => existsSync(`/proc/${pid}`);

test("reports the main process to systemd, even after an upgrade", async (context) => {
  needs(context, "python", "systemd-notify");
  using folder = folderWith();
  const path = join(folder.path, "notify.sock");
  const data = join(folder.path, "data");
  const messages = await receive(path);
  const options = { runner: "process", "drain-seconds": "1" };
  const { child } = await serve(data, options, undefined, [], { NOTIFY_SOCKET: path });
  const mainPids = () => [...messages.join("\n").matchAll(/^MAINPID=(\d+)$/gm)].map(([, pid]) => Number(pid));
  onTestFinished(async () => {
    for (const pid of mainPids().filter(isAlive)) process.kill(pid, "SIGTERM");
    await expect.poll(() => mainPids().some(isAlive)).toBe(false);
  });
  await expect.poll(mainPids).toEqual([child.pid]);
  const { stdout } = await startCli(["upgrade", "--json", "--data-dir", data], process.env, data).ended;
  await expect.poll(mainPids).toEqual([child.pid, (JSON.parse(stdout) as { pid: number }).pid]);
  expect(messages.join("\n").match(/^READY=1$/gm)).toHaveLength(2);
});
