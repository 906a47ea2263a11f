/** Base images whose triggers copy another account's files, and registries that only this machine can reach. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { hostname } from "node:os";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { sourceOf } from "../support/archives/archives.ts";
import { imagesOf } from "../support/providers/at-docker.ts";
import { type ImageRegistry, startImageRegistry } from "../support/providers/image-registry.ts";
import { startLocal, type TestPlatform } from "../support/providers/local-platform.ts";
import { has, needs } from "../support/vitest/machine.ts";

const BASE = "node:24-bookworm-slim";
const server = `require("node:http").createServer((q, r) => r.end("up")).listen(process.env.PORT);`;
const END = 'COPY server.js /\nCMD ["node", "/server.js"]\n';

let registry: ImageRegistry;
let closed: ImageRegistry;
let platform: TestPlatform;
beforeAll(async () => {
  if (!has("base images")) return;
  registry = await startImageRegistry();
  closed = await startImageRegistry();
  closed.put("x", {});
  platform = await startLocal({ runner: "process", graceSeconds: 1, allowHostPort: [registry.port] });
});
const made = new Set<string>();
afterEach(() => {
  if (made.size > 0) execFileSync("docker", ["rmi", "--force", ...made], { stdio: "ignore" });
  made.clear();
});
afterAll(async () => {
  await platform?.[Symbol.asyncDispose]();
  await registry?.[Symbol.asyncDispose]();
  await closed?.[Symbol.asyncDispose]();
});

const deploy = async (Dockerfile: string) => {
  const records = await platform.deploy(sourceOf({ Dockerfile, "server.js": server }), { function_name: "based" });
  const last = records.at(-1);
  const answer = last?.url === undefined ? undefined : await (await fetch(last.url)).text();
  return { last, answer, output: records.map(({ message }) => message).join("\n") };
};

/** An operator's image with these lines as triggers. */
const triggering = (...triggers: string[]): string => {
  const name = `portside-test-${made.size}:triggers`;
  const lines = [`FROM ${BASE}`, ...triggers.map((one) => `ONBUILD ${one}`)];
  execFileSync("docker", ["build", "--tag", name, "-"], { input: lines.join("\n"), stdio: ["pipe", "ignore", "pipe"] });
  made.add(name);
  return name;
};

const pulled = (name: string): string => {
  const image = `localhost:${registry.port}/${name}`;
  made.add(image);
  return image;
};

/** A line that requires BuildKit as the builder. */
const KIT = "RUN --mount=type=cache,target=/cache true\n";

describe.each([
  ["the classic builder", ""],
  ["BuildKit", KIT],
] as const)("with %s", (_builder, more) => {
  test("a trigger cannot copy from another account's image by its id", async (context) => {
    needs(context, "base images", "buildkit");
    const theirs = sourceOf({
      Dockerfile: `FROM ${BASE}\nCOPY . /\n${END}`,
      "server.js": server,
      secret: "theirs-4711",
    });
    await platform.up(theirs, { function_name: "neighbour" }, "other");
    const [id = ""] = await imagesOf("neighbour");
    const base = triggering(`COPY --from=${id.slice(7, 19)} /secret /`);
    for (const lines of [
      `FROM ${base}\n`,
      `FROM ${base} AS one\nRUN true\nFROM ${BASE}\nCOPY --from=one /secret /\n`,
      `ARG BASE=${base}\nFROM $BASE\n`,
    ]) {
      const { last, output } = await deploy(`${lines}${more}RUN cat /secret\n`);
      expect(output).not.toContain("theirs-4711");
      expect(last).toMatchObject({ status: "ERROR", reason: "build_failed" });
      expect(last?.message).toMatch(
        /^Line \d of the Dockerfile \(FROM .*\) names an image with a trigger \(ONBUILD COPY/,
      );
    }
  });

  test("a trigger cannot make the engine download from the machine's loopback", async (context) => {
    needs(context, "base images", "buildkit");
    const url = `http://127.0.0.1:${closed.port}/v2/`;
    registry.put("adding", { OnBuild: [`ADD ${url} /x`], Cmd: ["/x"] });
    const bases = [triggering(`ADD ${url} /x`), pulled("adding")];
    for (const base of bases)
      for (const lines of [`FROM ${base}\n`, `FROM ${BASE}\nCOPY --from=${base} /from-registry /\n`]) {
        const { last } = await deploy(`${lines}${more}`);
        expect(last).toMatchObject({ status: "ERROR", reason: "build_failed" });
        expect(last?.message).toContain("ONBUILD ADD");
      }
    expect(closed.asked).toEqual([]);
  });

  test("checks an image that a trigger names, too", async (context) => {
    needs(context, "base images", "buildkit");
    const url = `http://127.0.0.1:${closed.port}/v2/`;
    registry.put("inner", { OnBuild: [`ADD ${url} /x`] });
    registry.put("outer", { OnBuild: [`COPY --from=${pulled("inner")} /from-registry /`] });
    registry.put("closed", { OnBuild: [`COPY --from=localhost:${closed.port}/x /from-registry /`] });
    expect((await deploy(`FROM ${pulled("outer")}\n${more}`)).last?.message).toContain("ONBUILD ADD");
    expect((await deploy(`FROM ${pulled("closed")}\n${more}`)).last?.message).toContain("--allow-host-port");
    expect(closed.asked).toEqual([]);
  });

  test("builds on the checked image, even if its tag moves", async (context) => {
    needs(context, "base images", "buildkit");
    const url = `http://127.0.0.1:${closed.port}/v2/`;
    registry.put("moving", {}, { OnBuild: [`ADD ${url} /x`] });
    const lines = `FROM ${pulled("moving")} AS one\nFROM ${BASE}\nCOPY --from=one /from-registry /\n${more}${END}`;
    const asked = registry.asked.length;
    const deployed = await Promise.all([deploy(lines), deploy(`${lines}# another\n`)]);
    for (const { answer, output } of deployed) expect(answer, output).toBe("up");
    const tags = registry.asked.slice(asked).filter((path) => path === "/v2/moving/manifests/latest");
    // Docker sends one HEAD request for the tag, and then fetches the manifest by its digest.
    expect(tags).toHaveLength(1);
    expect(closed.asked).toEqual([]);
  });

  test("triggers may copy from the source", async (context) => {
    needs(context, "base images", "buildkit");
    const base = triggering("COPY server.js /", "RUN test -f /server.js");
    const { answer, output } = await deploy(`FROM ${base}\n${more}CMD ["node", "/server.js"]\n`);
    expect(answer, output).toBe("up");
  });

  test("never contacts a registry on this machine, and reports the line that names it", async (context) => {
    needs(context, "base images", "buildkit");
    for (const host of ["localhost", "127.0.0.1", "127.1", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", hostname()]) {
      const image = `${host}:${closed.port}/x`;
      for (const lines of [
        `FROM ${image}\n`,
        `FROM ${BASE}\nCOPY --from=${image} /from-registry /\n`,
        `ARG BASE=${image}\nFROM $BASE\n`,
      ]) {
        const { last } = await deploy(`${lines}${more}`);
        expect(last, host).toMatchObject({ status: "ERROR", reason: "build_failed" });
        expect(last?.message, lines).toContain("of the Dockerfile");
        if (!host.startsWith("[::f")) expect(last?.message, lines).toContain(`--allow-host-port ${closed.port}`);
      }
    }
    expect(closed.asked).toEqual([]);
  });

  test("rejects an image of a different platform, because the engine would pull it again", async (context) => {
    needs(context, "base images", "buildkit");
    const { last } = await deploy(`FROM --platform=linux/s390x ${BASE}\n${more}`);
    expect(last?.message).toContain("Remove --platform");
  });
});

test("a build fails at its deadline if the registry never responds", async (context) => {
  needs(context, "base images");
  const silent = createServer(() => undefined).listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;
  await using own = await startLocal(
    { runner: "process", allowHostPort: [port] },
    { deployLimits: { buildDeadlineMs: 1500 } },
  );
  const source = sourceOf({ Dockerfile: `FROM localhost:${port}/x\n` });
  expect((await own.deploy(source)).at(-1)).toMatchObject({ status: "ERROR", reason: "build_timeout" });
  silent.closeAllConnections();
  silent.close();
});
