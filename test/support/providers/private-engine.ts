/** A separate Docker engine that a test can stop and start. Requires root. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { eventually } from "../vitest/eventually.ts";

const mountsBelow = (folder: string): string[] =>
  readFileSync("/proc/self/mounts", "utf8")
    .split("\n")
    .map((line) => line.split(" ")[1] ?? "")
    .filter((path) => path.startsWith(`${folder}/`))
    .reverse();

export const startPrivateEngine = async () => {
  const folder = mkdtempSync(join(tmpdir(), "portside-docker-"));
  const socket = join(folder, "docker.sock");
  const environment = { ...process.env, DOCKER_HOST: `unix://${socket}` };
  const docker = (...args: string[]): string =>
    execFileSync("docker", args, { env: environment, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  // As on most machines, containerd is a separate service and outlives the engine.
  const runtime = join(folder, "containerd.sock");
  const folders = ["root", "state"].flatMap((place) => [`--${place}`, join(folder, `containerd-${place}`)]);
  const containerd = spawn("containerd", ["--address", runtime, ...folders], { stdio: "ignore" });
  await eventually(() => expect(existsSync(runtime)).toBe(true));

  let child: ChildProcess | undefined;
  const start = async () => {
    const places = ["data-root", "exec-root", "pidfile"].flatMap((place) => [`--${place}`, join(folder, place)]);
    // Without firewall rules, so that another engine's rules stay unchanged.
    const own = ["--host", `unix://${socket}`, "--containerd", runtime, "--iptables=false"];
    child = spawn("dockerd", [...own, ...places], { stdio: "ignore" });
    await eventually(() => docker("version"));
  };
  const end = async (one: ChildProcess, signal: NodeJS.Signals) => {
    if (one.exitCode !== null || one.signalCode !== null) return;
    const ended = once(one, "exit");
    one.kill(signal);
    await ended;
  };
  const stop = async (signal: NodeJS.Signals = "SIGTERM") => {
    if (child !== undefined) await end(child, signal);
  };
  await start();
  return {
    environment,
    docker,
    start,
    stop,
    close: async () => {
      await stop();
      await end(containerd, "SIGTERM");
      // A killed engine leaves its mounts.
      for (const mounted of mountsBelow(folder)) execFileSync("umount", ["--lazy", mounted]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
};
