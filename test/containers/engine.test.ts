/** Stopped, restarted and killed engines, killed platforms, and removed images. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sourceOf } from "../support/archives/archives.ts";
import { folderWith } from "../support/archives/folders.ts";
import { Client, serve } from "../support/http/served.ts";
import { eventsOf } from "../support/logs/log-entries.ts";
import { containersOf, isFrozenContainer, removeImagesOf } from "../support/providers/at-docker.ts";
import { principalOf, startLocal, startLocalIn, type TestPlatform } from "../support/providers/local-platform.ts";
import { startPrivateEngine } from "../support/providers/private-engine.ts";
import { eventually } from "../support/vitest/eventually.ts";
import { has, needs } from "../support/vitest/machine.ts";

const Dockerfile = `FROM node:24-bookworm-slim
COPY server.js /
CMD ["node", "/server.js"]
`;
const server = `require("node:http").createServer((q, r) => r.end("hi")).listen(process.env.PORT)`;
const source = (text = server) => sourceOf({ Dockerfile, "server.js": text });

let engine: Awaited<ReturnType<typeof startPrivateEngine>>;
beforeAll(async () => {
  if (!has("base images") || !has("root")) return;
  engine = await startPrivateEngine();
  const image = execFileSync("docker", ["save", "node:24-bookworm-slim"], { maxBuffer: 2 ** 30 });
  execFileSync("docker", ["load"], { env: engine.environment, input: image });
});
afterAll(() => engine?.close());

const containers = () => engine.docker("ps", "--all", "--quiet").split("\n").filter(Boolean);

test.for(["SIGTERM", "SIGKILL"] as const)(
  "after a %s of the engine: 503 with a reason, and service again when the engine returns",
  async (signal, context) => {
    needs(context, "base images", "root");
    await using platform = await startLocal({ runner: "process" }, {}, { environment: engine.environment });
    const url = await platform.up(source());
    expect(await (await fetch(url)).text()).toBe("hi");
    await engine.stop(signal);
    await eventually(async () => {
      const answer = await fetch(url);
      expect(answer.status).toBe(503);
      expect(await answer.text()).toContain("provider_unavailable");
    });
    const last = (await platform.deploy(source("another"))).at(-1);
    expect(last).toMatchObject({ status: "ERROR", reason: "provider_unavailable" });
    // An engine failure must not remove the service.
    const same = (await platform.deploy(source())).at(-1);
    expect(same).toMatchObject({ status: "ERROR", reason: "provider_unavailable" });
    await engine.start();
    await eventually(async () => expect(await (await fetch(url)).text()).toBe("hi"));
    await eventually(() => expect(containers()).toHaveLength(1));
  },
);

test.for(["SIGTERM", "SIGKILL"] as const)(
  "after a %s of the engine while a container is frozen: service again when the engine returns",
  async (signal, context) => {
    needs(context, "base images", "root");
    await using platform = await startLocal({ idleSeconds: 0.3 }, {}, { environment: engine.environment });
    const url = await platform.up(source());
    await eventually(async () => expect(await eventsOf(platform, "frozen")).toHaveLength(1));
    await engine.stop(signal);
    await engine.start();
    await eventually(async () => expect(await (await fetch(url)).text()).toBe("hi"));
    await eventually(() => expect(containers()).toHaveLength(1));
  },
);

test.for([
  ["running", {}],
  ["frozen", { "idle-seconds": "0.3" }],
] as const)(
  "a killed platform leaves %s containers; the next one on its folder removes them and serves",
  async ([state, options], context) => {
    needs(context, "base images");
    using folder = folderWith();
    const first = await serve(folder.path, options);
    const client = new Client(first.url, first.apiKey as string);
    const records = await Array.fromAsync(client.deploy("orphan", source()));
    expect(records.at(-1)).toMatchObject({ status: "DONE" });
    const [orphan = ""] = await containersOf("orphan");
    if (state === "frozen") await eventually(async () => expect(await isFrozenContainer(orphan)).toBe(true));
    first.child.kill("SIGKILL");
    await once(first.child, "exit");
    expect(await containersOf("orphan")).toHaveLength(1);
    const second = await serve(folder.path, {});
    expect(await containersOf("orphan")).toEqual([]);
    const [deployment] = await new Client(second.url, first.apiKey as string).list();
    expect(await (await fetch(deployment?.url ?? "")).text()).toBe("hi");
    second.child.kill("SIGTERM");
    await once(second.child, "exit");
    expect(await containersOf("orphan")).toEqual([]);
    await removeImagesOf("orphan");
  },
);

test("recreates a removed network, reports a removed image as missing, and builds it again at the next deploy", async (context) => {
  needs(context, "base images", "root");
  await using platform = await startLocal({ idle: "stop", idleSeconds: 0.2 }, {}, { environment: engine.environment });
  const url = await platform.up(source());
  await eventually(() => expect(containers()).toEqual([]));
  engine.docker("network", "prune", "--force");
  expect(await (await fetch(url)).text()).toBe("hi");
  await eventually(() => expect(containers()).toEqual([]));
  const images = engine.docker("images", "--quiet", "--filter", "label=portside.image").split("\n").filter(Boolean);
  engine.docker("rmi", "--force", ...images);
  const answer = await fetch(url);
  expect(answer.status).toBe(503);
  expect(await answer.text()).toContain("image_not_found");
  expect(await (await fetch(await platform.up(source()))).text()).toBe("hi");
});

test("a removed image makes its deployment FAILED, at zero instances and after a restart, and the log has the fix", async (context) => {
  needs(context, "base images", "root");
  using folder = folderWith();
  const options = { idle: "stop", idleSeconds: 0.2 } as const;
  const deps = { environment: engine.environment };
  const shown = async ({ controlPlane }: TestPlatform) => {
    const [deployment] = (await controlPlane.listDeployments(principalOf("acme")))._unsafeUnwrap();
    return {
      status: deployment?.status,
      last: deployment?.last_deploy?.status,
      reason: deployment?.last_deploy?.reason,
    };
  };
  const words = async ({ controlPlane }: TestPlatform) => {
    const request = { deployment_name: "app", limit: 100, query: 'jsonPayload.event="image_missing"' };
    return (await controlPlane.readLogs(principalOf("acme"), request))
      ._unsafeUnwrap()
      .logs.map(({ message }) => message);
  };
  const lost = { status: "FAILED", last: "ERROR", reason: "image_not_found" };
  const remove = () => {
    const images = engine.docker("images", "--quiet", "--filter", "label=portside.image").split("\n").filter(Boolean);
    engine.docker("image", "rm", "--force", ...images);
  };
  {
    await using platform = await startLocalIn(folder.path, options, {}, deps);
    await platform.up(source());
    expect(await shown(platform)).toMatchObject({ status: "READY", last: "DONE" });
    await eventually(() => expect(containers()).toEqual([]));
    remove();
    // No request has reached the service since.
    expect(await shown(platform)).toEqual(lost);
    expect(await shown(platform)).toEqual(lost);
    await eventually(async () =>
      expect(await words(platform)).toEqual([expect.stringContaining("Deploy the source again")]),
    );
    await platform.up(source());
    expect(await shown(platform)).toMatchObject({ status: "READY", last: "DONE" });
    await eventually(() => expect(containers()).toEqual([]));
  }
  remove();
  {
    await using platform = await startLocalIn(folder.path, options, {}, deps);
    await eventually(async () => expect(await words(platform)).toHaveLength(2));
    expect(await shown(platform)).toEqual(lost);
    const [{ url = "" } = {}] = (await platform.controlPlane.listDeployments(principalOf("acme")))._unsafeUnwrap();
    const answer = await fetch(url);
    expect(answer.status).toBe(503);
    expect(await answer.text()).toContain("Its owner must deploy it again");
    // An engine that does not respond is not evidence of a missing image.
    await engine.stop();
    expect((await shown(platform)).status).toBe("READY");
    await engine.start();
    await platform.up(source());
    expect(await shown(platform)).toMatchObject({ status: "READY", last: "DONE" });
  }
});

test("a start removes images of the folder's platform that its state does not list", async (context) => {
  needs(context, "base images", "root");
  using folder = folderWith();
  const known = () =>
    engine.docker("images", "--quiet", "--filter", "label=portside.image").split("\n").filter(Boolean);
  const before = known().length;
  {
    await using platform = await startLocalIn(folder.path, {}, {}, { environment: engine.environment });
    await platform.up(source(`/* another */${server}`));
    (await platform.controlPlane.deleteDeployment(principalOf("acme"), { name: "app" }))._unsafeUnwrap();
  }
  expect(known()).toHaveLength(before + 1);
  // As after a kill between the build and its record.
  execFileSync("rm", ["-r", `${folder.path}/images`]);
  await using _again = await startLocalIn(folder.path, {}, {}, { environment: engine.environment });
  expect(known()).toHaveLength(before);
});
