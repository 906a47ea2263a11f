/** What a user of the API does with only curl and tar, against `portside serve`. */
import { type ChildProcessByStdio, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import type { DeployEvent } from "../../core/domain/deploy/events.ts";
import { helloServer } from "../support/archives/archives.ts";
import { type Folder, folderWith } from "../support/archives/folders.ts";
import { serve } from "../support/http/served.ts";
import { needs } from "../support/vitest/machine.ts";

const run = promisify(execFile);

/** A server that delays its response until the test releases it, and reports requests. */
const startLatch = async () => {
  const asked = Promise.withResolvers<void>();
  const open = Promise.withResolvers<void>();
  const server = createServer((_req, res) => {
    asked.resolve();
    void open.promise.then(() => res.end("continue"));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { port, asked: asked.promise, open: () => open.resolve(), close: () => server.close() };
};

/** Packs a source folder with tar, like the guide. */
const pack = async (folder: Folder, name: string, greeting: string, build: string): Promise<string> => {
  folder.write({
    [`${name}/package.json`]: JSON.stringify({ type: "module", scripts: { build, start: "node server.js" } }),
    [`${name}/server.js`]: helloServer(greeting),
  });
  const archive = join(folder.path, `${name}.tar.gz`);
  await run("tar", ["-czf", archive, "-C", join(folder.path, name), "."]);
  return archive;
};

async function* recordsOf(curl: ChildProcessByStdio<null, Readable, null>): AsyncGenerator<DeployEvent> {
  for await (const line of createInterface({ input: curl.stdout })) yield JSON.parse(line);
}

test("deploy, follow, call, list, redeploy and remove with curl", async (context) => {
  needs(context, "curl", "tar");
  using folder = folderWith();
  const latch = await startLatch();
  const server = await serve(join(folder.path, "data"), { runner: "process" });
  const key = `X-API-Key: ${server.apiKey}`;
  const post = async (path: string, body: object) => {
    const args = ["-sS", "-H", key, "--json", JSON.stringify(body), server.url + path];
    return JSON.parse((await run("curl", args)).stdout);
  };
  const deploy = (archive: string) => {
    const form = ["function_name=hello", "volumes={}", `source_archive=@${archive}`].flatMap((field) => ["-F", field]);
    return spawn("curl", ["-sSN", "-H", key, ...form, `${server.url}/v1/deploy`], {
      stdio: ["ignore", "pipe", "inherit"],
    });
  };
  try {
    const waiting = `echo compiling; node -e 'fetch("http://127.0.0.1:${latch.port}").then(() => console.log("compiled"))'`;
    const records: DeployEvent[] = [];
    for await (const record of recordsOf(deploy(await pack(folder, "one", "first", waiting)))) {
      records.push(record);
      // The build continues only after this record has arrived, which proves that it was sent during the build.
      if (record.message === "compiling") {
        await latch.asked;
        latch.open();
      }
    }
    expect(records.map(({ message }) => message)).toEqual(expect.arrayContaining(["compiling", "compiled"]));
    const done = records.at(-1);
    expect(done).toMatchObject({ status: "DONE" });
    const url = done?.url ?? "";
    const call = async () => (await run("curl", ["-sS", url])).stdout;
    expect(await call()).toBe("first");
    const list = ["-sS", "-H", key, `${server.url}/v1/deployment/list`];
    expect(JSON.parse((await run("curl", list)).stdout)).toMatchObject([{ name: "hello", url }]);

    const again = await Array.fromAsync(recordsOf(deploy(await pack(folder, "two", "second", "true"))));
    expect(again.at(-1)).toMatchObject({ status: "DONE", url });
    expect(await call()).toBe("second");

    expect(await post("/v1/deployment/delete", { name: "hello" })).toHaveProperty("detail");
    expect(JSON.parse((await run("curl", list)).stdout)).toEqual([]);
    await expect(run("curl", ["-sS", "--fail", url])).rejects.toThrow();
  } finally {
    latch.close();
    const ended = once(server.child, "exit");
    server.child.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
  }
});
