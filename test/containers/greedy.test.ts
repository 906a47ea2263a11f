/**
 * Services in containers that exceed their limits: the platform contains and reports them, and neighbours keep working.
 */
import { availableParallelism } from "node:os";
import { afterAll, beforeAll, expect, test } from "vitest";
import { helloServer, nodeSource, sourceOf } from "../support/archives/archives.ts";
import { containersOf, processesOf, volumesOf } from "../support/providers/at-docker.ts";
import { principalOf, startLocal, type TestPlatform } from "../support/providers/local-platform.ts";
import { greedy } from "../support/sandbox/greedy.ts";
import { eventually } from "../support/vitest/eventually.ts";
import { has, needs } from "../support/vitest/machine.ts";

const Dockerfile = `FROM node:24-bookworm-slim
COPY server.js /
CMD ["node", "/server.js"]
`;

let platform: TestPlatform;
let url: string;
let neighbour: string;
beforeAll(async () => {
  if (!has("base images")) return;
  platform = await startLocal({ runner: "container", graceSeconds: 1 });
  const source = sourceOf({ Dockerfile, "server.js": greedy });
  neighbour = await platform.up(source, { function_name: "neighbour" }, "other");
  url = await platform.up(source, { function_name: "greedy", memory: "256Mi" });
});
afterAll(async () => {
  await platform?.[Symbol.asyncDispose]();
});

const logged = async (name = "greedy"): Promise<string> => {
  const request = { deployment_name: name, limit: 100, query: "logName=platform" };
  const page = await platform.controlPlane.readLogs(principalOf("acme"), request);
  return page
    ._unsafeUnwrap()
    .logs.map(({ message }) => message)
    .join("\n");
};

/** Checks that the log reports the violation, the neighbour keeps responding, and the service is up again. */
const contained = async (path: string, words: string) => {
  await fetch(`${url}${path}`);
  await eventually(async () => {
    expect(await (await fetch(neighbour)).text()).toBe("hi");
    expect(await logged()).toContain(words);
  });
  await eventually(async () => expect(await (await fetch(url)).text()).toBe("hi"));
};

test("memory: ends the container and reports it", async (context) => {
  needs(context, "base images");
  await contained("/memory", "exceeded its memory limit of 256Mi");
});

test("its own files: ends the container and reports it", async (context) => {
  needs(context, "base images");
  await contained("/disk", "to its own files");
});

test("files below a VOLUME of its image: ends the container, reports it, and removes the volume from the engine", async (context) => {
  needs(context, "base images");
  const filling = `require("node:http").createServer((request, response) => {
    response.end("hi");
    if (request.url === "/fill") require("node:fs").ftruncateSync(require("node:fs").openSync("/kept/x", "w"), 3 * 1024 ** 3);
  }).listen(process.env.PORT)`;
  const lines = `${Dockerfile}RUN mkdir /kept && echo content > /kept/y\nVOLUME /kept\n`;
  const before = await volumesOf();
  const filler = await platform.up(sourceOf({ Dockerfile: lines, "server.js": filling }), { function_name: "filler" });
  // The engine may still remove volumes of the other tests.
  const added = async () => (await volumesOf()).filter((volume) => !before.includes(volume));
  expect(await added()).toHaveLength(1);
  await fetch(`${filler}/fill`);
  await eventually(async () => expect(await logged("filler")).toContain("to its own files"));
  await eventually(async () => expect(await (await fetch(filler)).text()).toBe("hi"));
  (await platform.controlPlane.deleteDeployment(principalOf("acme"), { name: "filler" }))._unsafeUnwrap();
  await eventually(async () => expect(await containersOf("filler")).toEqual([]));
  expect(await added()).toEqual([]);
});

test("processes: cannot exceed the limit, and a neighbour starts and responds", async (context) => {
  needs(context, "base images");
  await fetch(`${url}/forks`);
  const [id = ""] = await containersOf("greedy");
  await eventually(async () => expect(await processesOf(id)).toBeGreaterThan(50));
  const server = sourceOf({ Dockerfile, "server.js": greedy });
  await platform.up(server, { function_name: "late" }, "other");
  expect(await (await fetch(neighbour)).text()).toBe("hi");
  expect(await processesOf(id)).toBeLessThanOrEqual(1024);
  (await platform.controlPlane.deleteDeployment(principalOf("other"), { name: "late" }))._unsafeUnwrap();
  // The next test needs an idle service.
  url = await platform.up(server, { function_name: "greedy", memory: "256Mi" });
});

test("lines: reads all lines of a flood, and a neighbour responds meanwhile", async (context) => {
  needs(context, "base images");
  await fetch(`${url}/logs`);
  expect(await (await fetch(neighbour)).text()).toBe("hi");
  await eventually(async () => {
    const page = await platform.controlPlane.readLogs(principalOf("acme"), {
      deployment_name: "greedy",
      limit: 1,
      query: '"199999x"',
    });
    expect(page._unsafeUnwrap().logs).toHaveLength(1);
  });
});

test("replaces a service that stops listening", async (context) => {
  needs(context, "base images");
  const deaf = await containersOf("greedy");
  expect(deaf).toHaveLength(1);
  await fetch(`${url}/deaf`);
  await eventually(async () => expect(await (await fetch(url)).text()).toBe("hi"));
  await eventually(async () => expect(await containersOf("greedy")).not.toContain(deaf[0]));
});

test("ends a service that ignores SIGTERM", async (context) => {
  needs(context, "base images");
  (await platform.controlPlane.deleteDeployment(principalOf("acme"), { name: "greedy" }))._unsafeUnwrap();
  await eventually(async () => expect(await containersOf("greedy")).toEqual([]));
});

test("more CPUs than the machine has: a build script and a service run on the existing ones", async (context) => {
  needs(context, "base images", "npm");
  const scripts = { build: "node -e 0", start: "node server.js" };
  const source = nodeSource(helloServer("built"), { "package.json": JSON.stringify({ type: "module", scripts }) });
  const asked = Math.max(8, availableParallelism());
  expect(await (await fetch(await platform.up(source, { function_name: "wide", cpu: asked }))).text()).toBe("built");
});

test("processes of a Dockerfile's commands: cannot exceed the limit, and a neighbour responds", async (context) => {
  needs(context, "base images");
  // In the container, the kernel reports the limit. Without one, the bomb stops at a number above it.
  const bomb = `limit() { cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2>/dev/null; }
n=0; while [ "$(limit)" = max ] && [ $n -lt 200 ]; do sleep 0.1; n=$((n + 1)); done
made=0; while [ $made -lt 6000 ]; do sleep 100 & made=$((made + 1)); echo $made >/made; done 2>/dev/null
`;
  const lines = `FROM node:24-bookworm-slim\nCOPY bomb.sh /\nRUN sh /bomb.sh || true\nRUN echo "made $(cat /made)"\n`;
  const deployed = platform.deploy(sourceOf({ Dockerfile: lines, "bomb.sh": bomb }), { function_name: "bomber" });
  expect(await (await fetch(neighbour)).text()).toBe("hi");
  const output = (await deployed).map(({ message }) => message).join("\n");
  const [, made = ""] = /^made (\d+)$/m.exec(output) ?? [];
  expect(Number(made), output).toBeGreaterThan(1000);
  expect(Number(made), output).toBeLessThan(4096);
  expect(await (await fetch(neighbour)).text()).toBe("hi");
});
