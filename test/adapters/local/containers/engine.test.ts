/** Finds a container engine, and loads its API client only when it is needed. */
import { once } from "node:events";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openContainers } from "../../../../adapters/local/containers/containers.ts";
import { type ContainerEngine, findEngine } from "../../../../adapters/local/containers/engine.ts";
import { newMark } from "../../../../adapters/local/sandbox/scope.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { recordingLogger } from "../../../support/logs/silent-logger.ts";

const responses: Readonly<Record<string, unknown>> = {
  "/version": { Version: "28.5.1", Os: "linux", Arch: "amd64", Components: [{ Name: "Engine" }] },
  "/info": { KernelVersion: "6.1.0", Name: "elsewhere", SecurityOptions: ["name=rootless"], InitBinary: "docker-init" },
  "/containers/json": [],
  "/images/json": [],
  "/images/known/json": { Id: "sha256:1" },
  "/networks": [],
};

/** Serves these responses on a socket, and 404 for every other path. */
const startEngine = async (folder: string): Promise<string> => {
  const socket = join(folder, "docker.sock");
  const server = createServer((request, response) => {
    const found = responses[new URL(request.url ?? "", "http://engine").pathname];
    response.statusCode = found === undefined ? 404 : 200;
    response.end(JSON.stringify(found ?? { message: "No such object" }));
  });
  onTestFinished(() => void server.close());
  await once(server.listen(socket), "listening");
  return socket;
};

const isClientLoaded = (): boolean =>
  Object.keys(createRequire(import.meta.url).cache).some((file) => file.includes("/node_modules/dockerode/"));

test("finds an engine without containers, and loads the client only when a caller asks for it", async () => {
  using folder = folderWith();
  const socket = await startEngine(folder.path);
  const engine = (await findEngine({ DOCKER_HOST: `unix://${socket}` })) as ContainerEngine;
  expect(engine).toMatchObject({
    name: "Docker",
    version: "28.5.1",
    platform: "linux/amd64",
    sharesKernel: false,
    rootless: true,
    hasInit: true,
  });
  const { logger, logged } = recordingLogger();
  const containers = await openContainers(engine, {
    scope: "scope",
    mark: newMark("scope"),
    imageScope: "scope",
    folder: folder.path,
    logger,
    allowedPorts: [],
  });
  await containers.removeOthers();
  await containers.sweepImages(new Set());
  expect(await containers.hasImage("known")).toBe(true);
  expect(await containers.hasImage("unknown")).toBe(false);
  await containers.close();
  expect(logged).toEqual([]);
  expect(isClientLoaded()).toBe(false);
  await engine.docker();
  expect(isClientLoaded()).toBe(true);
});

test("explains that no engine listens on the socket", async () => {
  using folder = folderWith({ "docker.sock": "" });
  const socket = join(folder.path, "docker.sock");
  expect(await findEngine({ DOCKER_HOST: `unix://${socket}` })).toBe(`${socket} does not respond (ECONNREFUSED)`);
});
