/** Broken connections: a transfer completes with identical bytes, or leaves no partial object. */
import { createHash, randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { folderWith } from "../../../support/archives/folders.ts";
import { startCli } from "../../../support/cli/cli-process.ts";
import { serveVolume, type VolumeCli } from "../../../support/cli/volume-cli.ts";
import { type CuttingProxy, serveCutting } from "../../../support/http/cutting-proxy.ts";
import { atPort, portOf, type RewritingProxy, serveRewriting } from "../../../support/http/rewriting-proxy.ts";
import { eventually } from "../../../support/vitest/eventually.ts";
import { runs, within } from "../../../support/vitest/runs.ts";

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

interface CutCli extends AsyncDisposable {
  readonly cli: VolumeCli;
  readonly env: NodeJS.ProcessEnv;
  readonly cuts: () => number;
  /** Cuts the next connections to the storage, each after the given number of bytes. Later connections stay intact. */
  cutAfter(...bytes: readonly number[]): void;
}

/** An API whose signed URLs lead through a proxy that breaks connections. */
const serveCut = async (): Promise<CutCli> => {
  const cli = await serveVolume();
  await cli.write("warm", "");
  const { url } = (await cli.api.call("POST", "/v1/volume/download", { json: { volume: "data", path: "warm" } })).json;
  let next: number[] = [];
  const proxy: CuttingProxy = await serveCutting(portOf(url), () => next.shift());
  const front: RewritingProxy = await serveRewriting(cli.api.url, (path, answer) => {
    const grant = answer.json as { url?: string };
    if (!/\/(up|down)load$/.test(path) || grant.url === undefined) return answer;
    return { ...answer, json: { ...grant, url: atPort(grant.url, proxy.port) } };
  });
  return {
    cli,
    env: { PORTSIDE_URL: front.url },
    cuts: () => proxy.cuts,
    cutAfter: (...bytes) => {
      next = [...bytes];
    },
    [Symbol.asyncDispose]: async () => {
      await front[Symbol.asyncDispose]();
      await proxy[Symbol.asyncDispose]();
      await cli[Symbol.asyncDispose]();
    },
  };
};

const SIZE = 300_000;
/** The byte at which a connection breaks: in the headers, which have a few hundred bytes, or in the body. */
const place = fc.oneof(fc.integer({ min: 1, max: 600 }), fc.integer({ min: 1, max: SIZE }));

describe("a connection that breaks", () => {
  test("during put is retried from the start, and the object equals the file", {
    timeout: within(),
  }, async () => {
    await using cut = await serveCut();
    await fc.assert(
      fc.asyncProperty(fc.array(place, { minLength: 1, maxLength: 3 }), async (cuts) => {
        using folder = folderWith();
        const bytes = randomBytes(SIZE);
        writeFileSync(join(folder.path, "file"), bytes);
        cut.cutAfter(...cuts);
        const { code, stderr } = await cut.cli.volume(["put", "data", "file"], { cwd: folder.path, env: cut.env });
        expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
        expect(sha256((await cut.cli.read("file")) as Buffer)).toBe(sha256(bytes));
      }),
      runs(5),
    );
    expect(cut.cuts()).toBeGreaterThan(0);
  });

  test("during every attempt of put is reported, and the old object remains", { timeout: 120_000 }, async () => {
    await using cut = await serveCut();
    using folder = folderWith();
    writeFileSync(join(folder.path, "file"), randomBytes(SIZE));
    await cut.cli.write("file", "before");
    cut.cutAfter(100_000, 100_000, 100_000, 100_000);
    const { code, stderr } = await cut.cli.volume(["put", "data", "file"], { cwd: folder.path, env: cut.env });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: Lost the connection to the storage \(\w+.*\)\. Start the transfer again\.\n$/);
    expect(cut.cuts()).toBe(4);
    expect(String(await cut.cli.read("file"))).toBe("before");
  });

  test("during get resumes where it broke, in the same command and in a later one", {
    timeout: within(),
  }, async () => {
    await using cut = await serveCut();
    const bytes = randomBytes(SIZE);
    await cut.cli.write("file", bytes);
    await fc.assert(
      // More broken connections than attempts: a transfer continues while each attempt makes progress, and fails
      // otherwise.
      fc.asyncProperty(fc.array(place, { minLength: 1, maxLength: 8 }), async (cuts) => {
        using folder = folderWith();
        cut.cutAfter(...cuts);
        const run = () => cut.cli.volume(["get", "data", "file"], { cwd: folder.path, env: cut.env });
        let { code } = await run();
        for (let more = 0; code !== 0 && more < 3; more++) {
          expect(existsSync(join(folder.path, "file"))).toBe(false);
          ({ code } = await run());
        }
        expect(code).toBe(0);
        expect(sha256(readFileSync(join(folder.path, "file")))).toBe(sha256(bytes));
        expect(readdirSync(folder.path)).toEqual(["file"]);
      }),
      runs(5),
    );
    expect(cut.cuts()).toBeGreaterThan(0);
  });

  test("during get to standard output yields each byte once", async () => {
    await using cut = await serveCut();
    await cut.cli.write("file", "0123456789".repeat(30_000));
    cut.cutAfter(50_000, 120_000);
    const { code, stdout } = await cut.cli.volume(["get", "data", "file", "-"], { env: cut.env });
    expect(cut.cuts()).toBe(2);
    expect(code).toBe(0);
    expect(stdout).toBe("0123456789".repeat(30_000));
  });

  test("during get is retried while each attempt makes progress", async () => {
    await using cut = await serveCut();
    using folder = folderWith();
    const bytes = randomBytes(10 * SIZE);
    await cut.cli.write("file", bytes);
    cut.cutAfter(...Array.from({ length: 7 }, () => 2 * SIZE));
    const { code } = await cut.cli.volume(["get", "data", "file"], { cwd: folder.path, env: cut.env });
    expect(code).toBe(0);
    expect(cut.cuts()).toBeGreaterThan(4);
    expect(sha256(readFileSync(join(folder.path, "file")))).toBe(sha256(bytes));
  });

  test("does not mix two versions of an object", async () => {
    await using cut = await serveCut();
    using folder = folderWith();
    // A broken connection loses bytes in transit. The object is so large that the client receives some bytes anyway.
    await cut.cli.write("file", Buffer.alloc(10 * SIZE, "a"));
    cut.cutAfter(5 * SIZE, 1, 1, 1, 1);
    const first = await cut.cli.volume(["get", "data", "file"], { cwd: folder.path, env: cut.env });
    expect(first.code).toBe(1);
    expect(statSync(join(folder.path, "file.part")).size).toBeGreaterThan(0);
    await cut.cli.write("file", Buffer.alloc(SIZE, "b"));
    const second = await cut.cli.volume(["get", "data", "file"], { cwd: folder.path, env: cut.env });
    expect(second).toMatchObject({ code: 0 });
    expect(second.stderr).toContain("has changed since the partial download. Starting over.");
    expect(readFileSync(join(folder.path, "file"))).toEqual(Buffer.alloc(SIZE, "b"));
  });

  test("during transfers of a folder does not prevent their completion", { timeout: 120_000 }, async () => {
    await using cut = await serveCut();
    using folder = folderWith();
    const names = Array.from({ length: 12 }, (_, index) => `f${index}`);
    const bytes = new Map(names.map((name) => [name, randomBytes(50_000)]));
    for (const [name, content] of bytes) writeFileSync(join(folder.path, name), content);
    cut.cutAfter(10_000, 60, 40_000, 50_000);
    const sent = await cut.cli.volume(["put", "-r", "data", ".", "in"], { cwd: folder.path, env: cut.env });
    expect(sent).toMatchObject({ code: 0 });
    cut.cutAfter(10_000, 60, 40_000, 50_000);
    const fetched = await cut.cli.volume(["get", "data", "in/", "out"], { cwd: folder.path, env: cut.env });
    expect(fetched).toMatchObject({ code: 0 });
    for (const [name, content] of bytes) expect(readFileSync(join(folder.path, "out", name))).toEqual(content);
  });
});

describe.each(["SIGINT", "SIGTERM"] as const)("%s", (signal) => {
  test("ends a get with 130 and no message, and the next get resumes", async () => {
    await using cli = await serveVolume();
    using folder = folderWith();
    const bytes = randomBytes(SIZE);
    await cli.write("file", bytes);
    const grant = await cli.api.call("POST", "/v1/volume/download", { json: { volume: "data", path: "file" } });
    await using slow = await serveCutting(portOf(grant.json.url), () => 100_000, true);
    await using front = await serveRewriting(cli.api.url, (path, answer) => {
      if (path !== "/v1/volume/download") return answer;
      const { url } = answer.json as { url: string };
      return { ...answer, json: { ...(answer.json as object), url: atPort(url, slow.port) } };
    });
    const { child, ended } = startCli(
      ["volume", "get", "data", "file"],
      { ...cli.env, PORTSIDE_URL: front.url },
      folder.path,
    );
    const part = join(folder.path, "file.part");
    await eventually(() => expect(statSync(part, { throwIfNoEntry: false })?.size ?? 0).toBeGreaterThan(0));
    child.kill(signal);
    expect(await ended).toEqual({ code: 130, stdout: "", stderr: "" });
    expect(existsSync(join(folder.path, "file"))).toBe(false);
    const { stdout } = await cli.volume(["get", "data", "file", "--json"], { cwd: folder.path });
    expect(JSON.parse(stdout).resumed).toBeGreaterThan(0);
    expect(sha256(readFileSync(join(folder.path, "file")))).toBe(sha256(bytes));
  });
});
