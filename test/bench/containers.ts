/** Containers compared with the engine's own command line: the overhead of a platform on top of Docker. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { removeImagesOf } from "../support/providers/at-docker.ts";
import { has } from "../support/vitest/machine.ts";
import { type Bench, skipped } from "./bench.ts";
import { firstByte } from "./cold-start.ts";
import { startServer } from "./processes.ts";

/** Contains the process id, so that leftovers of killed runs are never mistaken for these containers and images. */
const SERVICE = `bench-${process.pid}`;
const BASE = "node:24-bookworm-slim";
const Dockerfile = `FROM ${BASE}\nWORKDIR /srv\nCOPY . .\nCMD ["node", "server.js"]\n`;

const docker = (...args: string[]): string =>
  execFileSync("docker", args, { encoding: "utf8", timeout: 60_000 }).trim();

const sourceFolder = () => {
  const path = mkdtempSync(join(tmpdir(), "portside-bench-image-"));
  cpSync("examples/hello", path, { recursive: true });
  writeFileSync(join(path, "Dockerfile"), Dockerfile);
  let round = 0;
  return {
    path,
    /** Forces the layers after the base to be built again. */
    change: () => writeFileSync(join(path, "round"), String(++round)),
    remove: () => rmSync(path, { recursive: true, force: true }),
  };
};

const answers = async (url: string): Promise<void> => {
  for (;;) {
    const answered = await fetch(url, { headers: { connection: "close" }, signal: AbortSignal.timeout(5000) }).then(
      async (response) => (await response.text()) !== "",
      () => false,
    );
    if (answered) return;
    await sleep(5);
  }
};

/** Runs an image, and returns the time to its first byte. */
const runByHand = async (image: string): Promise<number> => {
  const begun = performance.now();
  const id = docker("run", "--detach", "--publish", "127.0.0.1::8080", "--env", "PORT=8080", image);
  await answers(`http://${docker("port", id, "8080/tcp")}`);
  const took = performance.now() - begun;
  docker("rm", "--force", id);
  return took;
};

export const containerDeploy: Bench = {
  name: "container-deploy",
  title:
    "deploy of a hello-world Dockerfile to DONE with its base image present, compared with docker build and docker run",
  unit: "ms",
  goals: [{ peer: "docker build and docker run", at: "most", bound: 1.2 }],
  prepare: async () => {
    if (!has("base images")) return skipped(`Docker with ${BASE} is not available`);
    const server = await startServer();
    const source = sourceFolder();
    const measure = async () => {
      source.change();
      const begun = performance.now();
      await server.cli("deploy", source.path, "--name", SERVICE);
      return performance.now() - begun;
    };
    const byHand = async () => {
      source.change();
      const begun = performance.now();
      docker("build", "--quiet", "--tag", SERVICE, source.path);
      const built = performance.now() - begun;
      return built + (await runByHand(SERVICE));
    };
    return {
      subject: { name: "portside deploy", measure },
      peers: [{ name: "docker build and docker run", measure: byHand }],
      [Symbol.asyncDispose]: async () => {
        source.remove();
        await server[Symbol.asyncDispose]();
        await removeImagesOf(SERVICE);
        docker("rmi", "--force", SERVICE);
      },
    };
  },
};

export const coldStartContainer: Bench = {
  name: "cold-start-container",
  title: "time to the first byte of a service scaled to zero (container), compared with docker run",
  unit: "ms",
  goals: [{ peer: "docker run", at: "most", bound: 1, plus: 50 }],
  prepare: async () => {
    if (!has("base images")) return skipped(`Docker with ${BASE} is not available`);
    const server = await startServer("--idle", "stop", "--idle-seconds", "0.2");
    const source = sourceFolder();
    await server.cli("deploy", source.path, "--name", SERVICE);
    const [{ url }] = JSON.parse(await server.cli("list", "--json")) as [{ url: string }];
    docker("build", "--quiet", "--tag", SERVICE, source.path);
    const measure = async () => {
      while (docker("ps", "--all", "--quiet", "--filter", `label=portside.service=${SERVICE}`) !== "") await sleep(20);
      return firstByte(url);
    };
    return {
      subject: { name: "through the ingress", measure },
      peers: [{ name: "docker run", measure: () => runByHand(SERVICE) }],
      [Symbol.asyncDispose]: async () => {
        source.remove();
        await server[Symbol.asyncDispose]();
        await removeImagesOf(SERVICE);
        docker("rmi", "--force", SERVICE);
      },
    };
  },
};
