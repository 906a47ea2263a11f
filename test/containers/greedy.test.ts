/** Services in containers that take more than they are given: contained, told, and no trouble for a neighbour. */
import { availableParallelism } from "node:os";
import { afterAll, beforeAll, expect, test } from "vitest";
import { helloServer, nodeSource, sourceOf } from "../support/archives.ts";
import { containersOf, processesOf } from "../support/at-docker.ts";
import { eventually } from "../support/eventually.ts";
import { greedy } from "../support/greedy.ts";
import { principalOf, startLocal, type TestPlatform } from "../support/local-platform.ts";
import { has, needs } from "../support/machine.ts";

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

const logged = async (): Promise<string> => {
  const request = { deployment_name: "greedy", limit: 100, query: "logName=platform" };
  const page = await platform.controlPlane.readLogs(principalOf("acme"), request);
  return page
    ._unsafeUnwrap()
    .logs.map(({ message }) => message)
    .join("\n");
};

/** The deed is told in the log, the neighbour answers meanwhile, and the service is there again. */
const contained = async (deed: string, words: string) => {
  await fetch(`${url}${deed}`);
  await eventually(async () => {
    expect(await (await fetch(neighbour)).text()).toBe("hi");
    expect(await logged()).toContain(words);
  });
  await eventually(async () => expect(await (await fetch(url)).text()).toBe("hi"));
};

test("memory: it is ended, and that is told", async (context) => {
  needs(context, "base images");
  await contained("/memory", "used more than its 256Mi of memory");
});

test("its own files: it is ended, and that is told", async (context) => {
  needs(context, "base images");
  await contained("/disk", "into its own files");
});

test("processes: no more than the limit can be made, and a neighbour starts and answers", async (context) => {
  needs(context, "base images");
  await fetch(`${url}/forks`);
  const [id = ""] = await containersOf("greedy");
  await eventually(async () => expect(await processesOf(id)).toBeGreaterThan(50));
  const server = sourceOf({ Dockerfile, "server.js": greedy });
  await platform.up(server, { function_name: "late" }, "other");
  expect(await (await fetch(neighbour)).text()).toBe("hi");
  expect(await processesOf(id)).toBeLessThanOrEqual(1024);
  (await platform.controlPlane.deleteDeployment(principalOf("other"), { name: "late" }))._unsafeUnwrap();
  // One that does nothing else, for the next test.
  url = await platform.up(server, { function_name: "greedy", memory: "256Mi" });
});

test("lines: a flood is read to its end, and a neighbour answers meanwhile", async (context) => {
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

test("one that runs on but no longer listens is replaced", async (context) => {
  needs(context, "base images");
  const deaf = await containersOf("greedy");
  expect(deaf).toHaveLength(1);
  await fetch(`${url}/deaf`);
  await eventually(async () => expect(await (await fetch(url)).text()).toBe("hi"));
  await eventually(async () => expect(await containersOf("greedy")).not.toContain(deaf[0]));
});

test("a service that ignores SIGTERM is ended all the same", async (context) => {
  needs(context, "base images");
  (await platform.controlPlane.deleteDeployment(principalOf("acme"), { name: "greedy" }))._unsafeUnwrap();
  await eventually(async () => expect(await containersOf("greedy")).toEqual([]));
});

test("more CPUs than the machine has: a build script and a service run with what there is", async (context) => {
  needs(context, "base images", "npm");
  const scripts = { build: "node -e 0", start: "node server.js" };
  const source = nodeSource(helloServer("built"), { "package.json": JSON.stringify({ type: "module", scripts }) });
  const asked = Math.max(8, availableParallelism());
  expect(await (await fetch(await platform.up(source, { function_name: "wide", cpu: asked }))).text()).toBe("built");
});
