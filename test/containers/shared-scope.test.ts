/** Two servers with one scope, as during an upgrade: each removes only its own containers. */
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silent } from "../../adapters/local/accounts/identity.ts";
import { openContainers } from "../../adapters/local/containers/containers.ts";
import { findEngine } from "../../adapters/local/containers/engine.ts";
import { ensureHostImage } from "../../adapters/local/containers/host-image.ts";
import { newMark } from "../../adapters/local/sandbox/scope.ts";
import { MiB } from "../../core/domain/accounts/limits.ts";
import { folderWith } from "../support/archives/folders.ts";
import { needs } from "../support/vitest/machine.ts";

let scope: string;
let folder: ReturnType<typeof folderWith>;
beforeEach((context) => {
  needs(context, "containers");
  scope = `test${randomUUID().slice(0, 8)}`;
  folder = folderWith();
});
afterEach(async () => {
  if (scope !== undefined) await (await open(() => true)).close();
  folder?.[Symbol.dispose]();
});

const engineHere = async () => {
  const engine = await findEngine(process.env);
  if (typeof engine === "string") throw new Error(engine);
  return engine;
};

const open = async (ownsScope: () => boolean) => {
  const mark = newMark(scope);
  const containers = await openContainers(await engineHere(), {
    scope,
    mark,
    ownsScope,
    imageScope: scope,
    folder: folder.path,
    logger: silent,
    allowedPorts: [],
  });
  const start = () =>
    new Promise<void>((resolve, reject) => {
      const job = containers.start(
        {
          id: `${mark}.1`,
          argv: ["sh", "-c", "echo up; exec sleep 600"],
          cwd: "/tmp",
          env: { PATH: "/usr/bin:/bin" },
          binds: [],
          limits: { memory: 64 * MiB, cpu: 1, processes: 32 },
        },
        () => {
          resolve();
          return undefined;
        },
      );
      void job.exited.then((exit) => reject(new Error(JSON.stringify(exit))));
    });
  return { mark, start, close: containers.close, removeOthers: containers.removeOthers };
};

/** The names of the scope's running containers, without their common prefix. */
const running = async (): Promise<string[]> => {
  const docker = await (await engineHere()).docker();
  const found = await docker.listContainers({ filters: { label: [`portside.scope=${scope}`] } });
  return found.flatMap(({ Names }) => Names.map((name) => name.replace("/portside-", ""))).sort();
};

const hasNetwork = async (): Promise<boolean> => {
  const docker = await (await engineHere()).docker();
  return (await docker.listNetworks({ filters: { label: [`portside.scope=${scope}`] } })).length > 0;
};

/** Starts a container as earlier versions did: without the label for the mark. */
const startEarlierContainer = async (): Promise<string> => {
  const engine = await engineHere();
  const name = `${scope}.${randomUUID()}`;
  const docker = await engine.docker();
  const container = await docker.createContainer({
    name: `portside-${name}`,
    Image: await ensureHostImage(engine, folder.path),
    Cmd: ["sleep", "600"],
    Labels: { "portside.scope": scope },
    HostConfig: { Mounts: [{ Type: "bind", Source: "/usr", Target: "/usr", ReadOnly: true }] },
  });
  await container.start();
  return name;
};

test("the first one removes its containers, and the second one the network that they shared", async () => {
  let owner = "first";
  const first = await open(() => owner === "first");
  await first.start();
  const second = await open(() => owner === "second");
  await second.start();
  expect(await running()).toEqual([`${first.mark}.1`, `${second.mark}.1`].sort());
  owner = "second";
  await first.close();
  expect(await running()).toEqual([`${second.mark}.1`]);
  expect(await hasNetwork()).toBe(true);
  await second.close();
  expect(await running()).toEqual([]);
  expect(await hasNetwork()).toBe(false);
});

test("an abandoned upgrade leaves the containers and the network of the first one, even before these exist", async () => {
  const first = await open(() => true);
  const second = await open(() => false);
  await second.start();
  await second.close();
  expect(await running()).toEqual([]);
  expect(await hasNetwork()).toBe(true);
  await first.start();
  const third = await open(() => false);
  await third.start();
  await first.close();
  expect(await running()).toEqual([`${third.mark}.1`]);
  expect(await hasNetwork()).toBe(true);
});

test("the second one removes the containers of others on request, and the next start removes all", async () => {
  const earlier = await startEarlierContainer();
  const second = await open(() => false);
  await second.start();
  const third = await open(() => false);
  await third.start();
  expect(await running()).toEqual([earlier, `${second.mark}.1`, `${third.mark}.1`].sort());
  await third.removeOthers();
  expect(await running()).toEqual([`${third.mark}.1`]);
  await startEarlierContainer();
  await open(() => true);
  expect(await running()).toEqual([]);
});
