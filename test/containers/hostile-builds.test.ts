/** Dockerfiles that plant links and pipes in their image, and that access other accounts' files. */
import { once } from "node:events";
import { closeSync, constants, globSync, lstatSync, openSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import Dockerode from "dockerode";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sourceOf, tarGz } from "../support/archives/archives.ts";
import { type Folder, folderWith } from "../support/archives/folders.ts";
import { containersOf, imagesOf } from "../support/providers/at-docker.ts";
import { startLocal, type TestPlatform } from "../support/providers/local-platform.ts";
import { canaries, fingerprint } from "../support/sandbox/hostile-builds.ts";
import { eventually } from "../support/vitest/eventually.ts";
import { needs } from "../support/vitest/machine.ts";

const docker = new Dockerode();
const BASE = "node:24-bookworm-slim";
const server = `require("node:http").createServer((q, r) => r.end("up")).listen(process.env.PORT);`;

let platform: TestPlatform;
let outside: Folder;
beforeAll(async () => {
  outside = folderWith(canaries);
  platform = await startLocal({ runner: "process", graceSeconds: 1, drainSeconds: 1 });
});
afterAll(async () => {
  await platform[Symbol.asyncDispose]();
  outside[Symbol.dispose]();
});

const deploy = async (name: string, Dockerfile: string, fields: object = {}, more: Record<string, string> = {}) => {
  const archive = sourceOf({ Dockerfile, "server.js": server, ...more });
  const records = await platform.deploy(archive, { function_name: name, ...fields });
  const last = records.at(-1);
  const answer = last?.url === undefined ? undefined : await (await fetch(last.url)).text();
  return { last, answer, output: records.map(({ message }) => message).join("\n") };
};

/** A step that plants each kind at each path that the engine touches afterwards, and reports it. */
const planting = (target: string): string => `RUN plant() { rm -rf "$1"; case $2 in \\
  link) ln -s ${target} "$1" ;; fifo) mkfifo "$1" ;; folder) mkdir -m 0 "$1" ;; \\
  socket) node -e 'require("net").createServer().listen(process.argv[1]).unref(); setTimeout(() => process.exit(0), 50)' "$1" ;; esac; }; \\
  n=0; for kind in link fifo folder socket; do for path in /etc/x-$kind /srv/$kind /tmp/$kind /var/$kind; do plant $path $kind; n=$((n + 1)); done; done; echo "planted $n of 16"
`;

/** Each changes what the engine derives from the image at a start. */
const starts: Readonly<Record<string, { lines: string; volumes?: object; answers: boolean }>> = {
  "a mount point that is a link to the machine": {
    lines: "RUN ln -s OUTSIDE/etc /data",
    volumes: { "/data": "one" },
    answers: true,
  },
  "a mount point below a link": { lines: "RUN ln -s OUTSIDE /data", volumes: { "/data/etc": "one" }, answers: true },
  "a mount point below a relative link upwards": {
    lines: "RUN ln -s ../../../../../../OUTSIDE /data",
    volumes: { "/data/etc": "one" },
    answers: true,
  },
  "a mount point that is a pipe": { lines: "RUN mkfifo /data", volumes: { "/data": "one" }, answers: false },
  "the engine's own files as links": {
    lines: "RUN mkdir -p /etc && ln -sf OUTSIDE/etc/shadow /etc/mtab && ln -sf OUTSIDE/etc/shadow /srv/hosts",
    answers: true,
  },
  "an account file that is a link": { lines: "RUN ln -sf OUTSIDE/etc/shadow /etc/passwd\nUSER evil", answers: false },
  "a user with the highest 32-bit number": { lines: "USER 4294967295", answers: false },
  "a working folder that is a link": { lines: "RUN ln -s OUTSIDE/etc /work\nWORKDIR /work/deep", answers: true },
  "a volume at a link": { lines: "RUN ln -s OUTSIDE/etc /big\nVOLUME /big", answers: true },
  "a volume at /proc": { lines: "VOLUME /proc", answers: false },
  "an entry point that is a link": {
    lines: 'RUN ln -s OUTSIDE/etc/shadow /entry\nENTRYPOINT ["/entry"]',
    answers: false,
  },
  "an entry point that is a pipe": { lines: 'RUN mkfifo /entry\nENTRYPOINT ["/entry"]', answers: false },
  "an entry point that looks like an option": { lines: 'ENTRYPOINT ["--privileged"]', answers: false },
  "labels of the platform": {
    lines: `LABEL portside.scope=x portside.owner=y portside.image='{"scope":"x"}' portside.service=neighbour`,
    answers: true,
  },
};

describe("a Dockerfile", () => {
  test("may plant anything in its image, and nothing outside changes", async (context) => {
    needs(context, "base images");
    const before = fingerprint(outside.path);
    const Dockerfile = `FROM ${BASE}\n${planting(`${outside.path}/etc`)}COPY . /srv/link/\nCOPY server.js /\nCMD ["node", "/server.js"]\n`;
    const { output, last } = await deploy("planter", Dockerfile);
    expect(output).toContain("planted 16 of 16");
    expect(last?.status).toMatch(/^(?:DONE|ERROR)$/);
    expect(fingerprint(outside.path)).toBe(before);
  });

  test.for(Object.entries(starts))(
    "with %s changes nothing outside",
    async ([title, { lines, volumes = {}, answers }], context) => {
      needs(context, "base images");
      const before = fingerprint(outside.path);
      const name = title.replaceAll(/[^a-z]+/g, "-").slice(0, 40);
      const Dockerfile = `FROM ${BASE}\nCOPY server.js /\nCMD ["node", "/server.js"]\n${lines.replaceAll("OUTSIDE", outside.path)}\n`;
      const { answer, output } = await deploy(name, Dockerfile, { volumes });
      expect(fingerprint(outside.path)).toBe(before);
      if (answers) expect(answer, output).toBe("up");
    },
  );

  test("with a pipe as the account file does not hold up the deploy", async (context) => {
    needs(context, "base images", "root");
    const lines = `FROM ${BASE}\nCOPY server.js /\nCMD ["node", "/server.js"]\nRUN rm /etc/passwd && mkfifo /etc/passwd\n`;
    await using own = await startLocal({ runner: "process" }, { deployLimits: { listenDeadlineMs: 2000 } });
    const records = await own.deploy(sourceOf({ Dockerfile: lines, "server.js": server }), { function_name: "piped" });
    expect(records.at(-1)).toMatchObject({ status: "ERROR", reason: "did_not_listen" });
    // The engine waits at the pipe several times. It continues when another process opens the pipe.
    await eventually(async () => {
      for (const path of globSync("/var/lib/docker/overlay2/*/merged/etc/passwd")) {
        if (!lstatSync(path, { throwIfNoEntry: false })?.isFIFO()) continue;
        closeSync(openSync(path, constants.O_RDWR | constants.O_NONBLOCK));
      }
      expect(await containersOf("piped")).toEqual([]);
    });
  });

  test("cannot copy from another account's image by its id", async (context) => {
    needs(context, "base images");
    const theirs = sourceOf({
      Dockerfile: `FROM ${BASE}\nCOPY . /\nCMD ["node", "/server.js"]\n`,
      "server.js": server,
      secret: "theirs-4711",
    });
    await platform.up(theirs, { function_name: "neighbour" }, "other");
    const [id = ""] = await imagesOf("neighbour");
    for (const part of [id, id.slice(7, 19), id.slice(7, 15)])
      for (const line of [`COPY --from=${part} /secret /`, `FROM ${part}`]) {
        const { last, output } = await deploy("thief", `FROM ${BASE}\n${line}\nRUN cat /secret\n`);
        expect(output).not.toContain("theirs-4711");
        expect(last).toMatchObject({ status: "ERROR", reason: "build_failed" });
      }
  });

  test("cannot make the engine download from the machine's loopback", async (context) => {
    needs(context, "base images");
    let asked = 0;
    const listener = createServer((_request, response) => {
      asked++;
      response.end("loopback-4711");
    }).listen(0, "127.0.0.1");
    await once(listener, "listening");
    const { port } = listener.address() as AddressInfo;
    const { last, output } = await deploy("fetcher", `FROM ${BASE}\nADD http://127.0.0.1:${port}/x /x\nRUN cat /x\n`);
    listener.close();
    expect({ asked, output }).toMatchObject({ asked: 0, output: expect.not.stringContaining("loopback-4711") });
    expect(last).toMatchObject({ status: "ERROR", reason: "build_failed" });
  });

  test("cannot make the engine run a health check", async (context) => {
    needs(context, "base images");
    const lines = `FROM ${BASE}\nCOPY server.js /\nHEALTHCHECK --interval=1ms CMD true\nCMD ["node", "/server.js"]\n`;
    expect((await deploy("healthy", lines)).answer).toBe("up");
    const [id = ""] = await containersOf("healthy");
    expect((await docker.getContainer(id).inspect()).State.Health).toBeUndefined();
  });

  test("is checked as the engine parses it, even if the archive contains it twice or it is very long", async (context) => {
    needs(context, "base images");
    const twice = tarGz([
      { path: "Dockerfile", content: `FROM ${BASE}\n` },
      { path: "./Dockerfile", content: `FROM ${BASE}\nADD http://127.0.0.1:1/x /x\n` },
    ]);
    const refused = async (source: Uint8Array): Promise<string> => {
      try {
        return (await platform.deploy(source, { function_name: "odd" })).at(-1)?.message ?? "";
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(await refused(twice)).toMatch(/Line 2 of the Dockerfile|twice/);
    const long = `FROM ${BASE}\n${"# padding\n".repeat(110_000)}ADD http://127.0.0.1:1/x /x\n`;
    expect(await refused(sourceOf({ Dockerfile: long }))).toContain("larger than 1 MiB");
  });

  test("leaves the server able to deploy the next one", async (context) => {
    needs(context, "base images");
    expect((await deploy("next", `FROM ${BASE}\nCOPY server.js /\nCMD ["node", "/server.js"]\n`)).answer).toBe("up");
  });
});
