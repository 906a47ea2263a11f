/** `portside volume put` resumes the upload of a large file. */
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { createServer, type RequestListener, type ServerResponse } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { MiB } from "../../../../core/domain/accounts/limits.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { serveVolume } from "../../../support/cli/volume-cli.ts";
import { atPort, serveRewriting } from "../../../support/http/rewriting-proxy.ts";

const SIZE = 64 * MiB + 1;
const large = (fill: string): string => fill.repeat(SIZE);

interface Grant {
  readonly parts: readonly { readonly number: number; readonly url: string; readonly etag?: string }[];
  readonly complete_url: string;
}

/**
 * Starts a platform. While `on` is set, a storage of the test receives the third part, all missing parts after the
 * first two, or the completion of each upload.
 */
const serveTrapped = async (where: "part" | "later parts" | "completion", listener: RequestListener) => {
  const cli = await serveVolume();
  const trap = createServer(listener).listen(0, "127.0.0.1");
  await once(trap, "listening");
  const { port } = trap.address() as { port: number };
  const calls: string[] = [];
  const state = { on: true };
  const front = await serveRewriting(cli.api.url, (path, answer) => {
    calls.push(path);
    const grant = answer.json as Grant;
    if (!state.on || grant.parts === undefined) return answer;
    const usable = grant.parts.filter(({ etag }) => etag === undefined).slice(0, 2);
    const isTrapped = (part: Grant["parts"][number]) =>
      where === "part" ? part.number === 3 : where === "later parts" && !usable.includes(part);
    const parts = grant.parts.map((part) => (isTrapped(part) ? { ...part, url: atPort(part.url, port) } : part));
    const complete_url = where === "completion" ? atPort(grant.complete_url, port) : grant.complete_url;
    return { ...answer, json: { ...grant, parts, complete_url } };
  });
  const count = (end: string) => calls.filter((path) => path.endsWith(end)).length;
  return {
    cli,
    state,
    env: (home: string) => ({ PORTSIDE_URL: front.url, XDG_CACHE_HOME: home }),
    count,
    [Symbol.asyncDispose]: async () => {
      trap.closeAllConnections();
      trap.close();
      await front[Symbol.asyncDispose]();
      await cli[Symbol.asyncDispose]();
    },
  };
};

describe("a large file", () => {
  test("continues after Ctrl-C, with the parts that are missing", async () => {
    const stop = new AbortController();
    await using served = await serveTrapped("part", () => stop.abort());
    using folder = folderWith({ "big.bin": large("a") });
    using home = folderWith();
    const run = (signal?: AbortSignal) =>
      served.cli.volume(["put", "data", "big.bin"], {
        cwd: folder.path,
        env: served.env(home.path),
        ...(signal && { signal }),
      });
    expect(await run(stop.signal)).toEqual({
      code: 130,
      stdout: "",
      stderr:
        "Interrupted. 'data' is unchanged, because the upload of 'big.bin' was incomplete. Run the command again to continue.\n",
    });
    expect(await served.cli.paths()).toEqual([]);
    expect(readdirSync(join(home.path, "portside", "uploads"))).toHaveLength(1);
    served.state.on = false;
    const stored = () => [...served.cli.api.memory.snapshot().volumes.values()].flatMap(({ uploads }) => [...uploads]);
    expect(stored().flatMap(([, { parts }]) => [...parts.keys()])).toEqual([1, 2]);
    expect(await run()).toEqual({ code: 0, stdout: "Uploaded 'big.bin' (64 MiB) to 'data'.\n", stderr: "" });
    expect((await served.cli.read("big.bin"))?.equals(Buffer.from(large("a")))).toBe(true);
    expect([served.count("/upload"), served.count("/upload-resume")]).toEqual([1, 1]);
    expect(readdirSync(join(home.path, "portside", "uploads"))).toEqual([]);
    expect(stored()).toEqual([]);
  });

  test("starts over if it has changed, or if its upload no longer exists", async () => {
    const stop = new AbortController();
    await using served = await serveTrapped("part", () => stop.abort());
    using folder = folderWith({ "big.bin": large("a") });
    using home = folderWith();
    const options = { cwd: folder.path, env: served.env(home.path) };
    await served.cli.volume(["put", "data", "big.bin"], { ...options, signal: stop.signal });
    served.state.on = false;
    for (const { uploads } of served.cli.api.memory.snapshot().volumes.values()) expect(uploads.size).toBe(1);
    await served.cli.volume(["delete", "-y", "data"]);
    await served.cli.volume(["create", "data"]);
    expect(await served.cli.volume(["put", "data", "big.bin"], options)).toMatchObject({ code: 0 });
    expect([served.count("/upload"), served.count("/upload-resume")]).toEqual([2, 1]);
    using changed = folderWith({ "big.bin": large("b") });
    expect(await served.cli.volume(["put", "data", "big.bin"], { ...options, cwd: changed.path })).toMatchObject({
      code: 0,
    });
    expect([served.count("/upload"), served.count("/upload-resume")]).toEqual([3, 1]);
    expect((await served.cli.read("big.bin"))?.equals(Buffer.from(large("b")))).toBe(true);
  });

  test("renews expired URLs without sending stored parts again", async () => {
    let refused = 0;
    await using served = await serveTrapped("part", (req, res) => {
      refused++;
      served.state.on = false;
      req.resume().on("end", () => res.writeHead(403).end());
    });
    using folder = folderWith({ "big.bin": large("a") });
    using home = folderWith();
    const options = { cwd: folder.path, env: served.env(home.path) };
    expect(await served.cli.volume(["put", "data", "big.bin"], options)).toMatchObject({ code: 0, stderr: "" });
    expect([refused, served.count("/upload"), served.count("/upload-resume")]).toEqual([1, 1, 1]);
    expect((await served.cli.read("big.bin"))?.equals(Buffer.from(large("a")))).toBe(true);
  });

  test("renews URLs that expire again and again, while parts arrive", async () => {
    let refused = 0;
    await using served = await serveTrapped("later parts", (req, res) => {
      refused++;
      req.resume().on("end", () => res.writeHead(403).end());
    });
    using folder = folderWith({ "big.bin": large("a") });
    using home = folderWith();
    const options = { cwd: folder.path, env: served.env(home.path) };
    expect(await served.cli.volume(["put", "data", "big.bin"], options)).toMatchObject({ code: 0, stderr: "" });
    expect([refused, served.count("/upload"), served.count("/upload-resume")]).toEqual([2, 1, 2]);
    expect((await served.cli.read("big.bin"))?.length).toBe(SIZE);
  });

  /** Forwards the completion to the platform's own storage, and returns its response. */
  const forward = async (
    cli: Awaited<ReturnType<typeof serveVolume>>,
    path: string,
    body: string,
  ): Promise<Response> => {
    const json = { volume: "data", object: "x" };
    const { port } = new URL((await cli.api.call("POST", "/v1/volume/upload", { json })).json.url);
    return fetch(atPort(`http://127.0.0.1${path}`, Number(port)), { method: "POST", body });
  };

  test.each([
    ["is lost", (res: ServerResponse) => res.destroy()],
    ["breaks after its headers", (res: ServerResponse) => res.writeHead(200).write(" ", () => res.destroy())],
  ])("is complete even if the response of its completion %s", async (_, lose) => {
    let lost = 0;
    await using served = await serveTrapped("completion", async (req, res) => {
      const done = await forward(served.cli, req.url ?? "", await text(req));
      if (++lost === 1) return lose(res);
      res.writeHead(done.status).end(await done.text());
    });
    using folder = folderWith({ "big.bin": large("a") });
    using home = folderWith();
    const options = { cwd: folder.path, env: served.env(home.path) };
    expect(await served.cli.volume(["put", "data", "big.bin"], options)).toMatchObject({ code: 0, stderr: "" });
    expect(lost).toBe(2);
    expect((await served.cli.read("big.bin"))?.length).toBe(SIZE);
  });

  test("is complete if the completion of an interrupted run ends during the next run", async () => {
    const stop = new AbortController();
    let completions = 0;
    await using served = await serveTrapped("completion", async (req, res) => {
      if (++completions === 1) return stop.abort();
      const body = await text(req);
      const again = () => forward(served.cli, req.url ?? "", body);
      await again();
      const late = await again();
      res.writeHead(late.status).end(await late.text());
    });
    using folder = folderWith({ "big.bin": large("a") });
    using home = folderWith();
    const options = { cwd: folder.path, env: served.env(home.path) };
    await served.cli.volume(["put", "data", "big.bin"], { ...options, signal: stop.signal });
    expect(await served.cli.volume(["put", "data", "big.bin"], options)).toMatchObject({ code: 0, stderr: "" });
    expect([completions, served.count("/upload"), served.count("/upload-resume")]).toEqual([2, 1, 1]);
    expect(readdirSync(join(home.path, "portside", "uploads"))).toEqual([]);
  });

  test("is uploaded completely if two commands continue the same upload concurrently", async () => {
    const stop = new AbortController();
    await using served = await serveTrapped("part", () => stop.abort());
    using folder = folderWith({ "big.bin": large("a") });
    using home = folderWith();
    const options = { cwd: folder.path, env: served.env(home.path) };
    await served.cli.volume(["put", "data", "big.bin"], { ...options, signal: stop.signal });
    served.state.on = false;
    const put = () => served.cli.volume(["put", "data", "big.bin"], options);
    const done = { code: 0, stdout: "Uploaded 'big.bin' (64 MiB) to 'data'.\n", stderr: "" };
    expect(await Promise.all([put(), put()])).toEqual([done, done]);
    expect((await served.cli.read("big.bin"))?.equals(Buffer.from(large("a")))).toBe(true);
  });

  test.each([
    ["no longer exists when a part arrives", "part", 404, "NoSuchUpload"],
    ["no longer exists at its completion", "completion", 404, "NoSuchUpload"],
    ["has different parts at its completion", "completion", 400, "InvalidPart"],
  ] as const)("starts over once if its upload %s, and then names the cause", async (_, where, status, code) => {
    let refused = 0;
    await using served = await serveTrapped(where, (req, res) => {
      refused++;
      const body = `<Error><Code>${code}</Code><Message>It changed.</Message></Error>`;
      req.resume().on("end", () => res.writeHead(status).end(body));
    });
    using folder = folderWith({ "big.bin": large("a") });
    using home = folderWith();
    const options = { cwd: folder.path, env: served.env(home.path) };
    expect(await served.cli.volume(["put", "data", "big.bin"], options)).toEqual({
      code: 1,
      stdout: "",
      stderr:
        "error: The upload of 'big.bin' failed twice, because its parts disappeared or changed. Another program may be uploading the same file. Wait until it has ended, and start the upload again.\n",
    });
    expect([refused, served.count("/upload"), served.count("/upload-resume")]).toEqual([2, 2, 0]);
    expect(await served.cli.paths()).toEqual([]);
    expect(readdirSync(join(home.path, "portside", "uploads"))).toEqual([]);
  });
});
