/** `portside volume get` against the real HTTP API and the real storage endpoint. */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { serveVolume } from "../../../support/cli/volume-cli.ts";
import { serveRewriting } from "../../../support/http/rewriting-proxy.ts";
import { serveFakeStorage } from "../../../support/providers/fake-storage.ts";

const textOf = (...path: string[]): string => readFileSync(join(...path), "utf8");

describe("one object", () => {
  test.each([
    [[], "file.txt"],
    [["other.txt"], "other.txt"],
    [["new/"], "new/file.txt"],
    [["there"], "there/file.txt"],
    [["deep/er/name"], "deep/er/name"],
  ])("is written to %j as %s, without other files", async (dest, expected) => {
    await using cli = await serveVolume();
    using folder = folderWith();
    mkdirSync(join(folder.path, "there"));
    await cli.write("a b/file.txt", "content");
    const ran = await cli.volume(["get", "data", "a b/file.txt", ...dest], { cwd: folder.path });
    const path = join(folder.path, expected);
    expect(ran).toEqual({ code: 0, stdout: `Downloaded 'a b/file.txt' (7 B) to ${path}.\n`, stderr: "" });
    expect(textOf(path)).toBe("content");
    expect(readdirSync(join(path, "..")).filter((name) => name.includes(".part"))).toEqual([]);
  });

  test("is the only content of standard output", async () => {
    await using cli = await serveVolume();
    await cli.write("a", "ünd\n");
    expect(await cli.volume(["get", "data", "a", "-"])).toEqual({ code: 0, stdout: "ünd\n", stderr: "" });
  });

  test("becomes an empty file if it is empty", async () => {
    await using cli = await serveVolume();
    using folder = folderWith();
    await cli.write("a", "");
    expect(await cli.volume(["get", "data", "a"], { cwd: folder.path })).toMatchObject({ code: 0 });
    expect(readdirSync(folder.path)).toEqual(["a"]);
  });

  test("replaces a file only with --force", async () => {
    await using cli = await serveVolume();
    using folder = folderWith({ a: "mine" });
    await cli.write("a", "theirs");
    const { code, stderr } = await cli.volume(["get", "data", "a"], { cwd: folder.path });
    expect(code).toBe(1);
    expect(stderr).toContain("--force");
    expect(textOf(folder.path, "a")).toBe("mine");
    expect(await cli.volume(["get", "data", "a", "--force"], { cwd: folder.path })).toMatchObject({ code: 0 });
    expect(textOf(folder.path, "a")).toBe("theirs");
  });

  test("that does not exist leaves no files", async () => {
    await using cli = await serveVolume();
    using folder = folderWith();
    const { code, stderr } = await cli.volume(["get", "data", "nothing"], { cwd: folder.path });
    expect(code).toBe(1);
    expect(stderr).toContain("'data' has no object 'nothing'");
    expect(readdirSync(folder.path)).toEqual([]);
  });

  test("that cannot be written is reported with the reason", async () => {
    await using cli = await serveVolume();
    using folder = folderWith({ file: "" });
    await cli.write("a", "1");
    const { code, stderr } = await cli.volume(["get", "data", "a", "file/a"], { cwd: folder.path });
    expect(code).toBe(1);
    expect(stderr).toMatch(/Cannot write '[^']+': (ENOTDIR|EEXIST)/);
    expect(stderr).not.toContain("bug");
  });
});

describe("a partial download", () => {
  /** Writes the files that an interrupted `get` leaves. */
  const stopped = async (path: string, part: string, etag: string) => {
    writeFileSync(`${path}.part`, part);
    writeFileSync(`${path}.part.etag`, etag);
  };
  const etagOf = async (cli: Awaited<ReturnType<typeof serveVolume>>, path: string): Promise<string> => {
    const grant = await cli.api.call("POST", "/v1/volume/download", { json: { volume: "data", path } });
    return (await fetch(grant.json.url)).headers.get("etag") as string;
  };

  test("is resumed without downloading it again", async () => {
    await using cli = await serveVolume();
    using folder = folderWith();
    await cli.write("a", "0123456789");
    // Differs from the beginning of the object, so the result shows that `get` did not download that part again.
    await stopped(join(folder.path, "a"), "abcd", await etagOf(cli, "a"));
    const { stdout } = await cli.volume(["get", "data", "a", "--json"], { cwd: folder.path });
    expect(JSON.parse(stdout)).toMatchObject({ size: 10, resumed: 4 });
    expect(textOf(folder.path, "a")).toBe("abcd456789");
    expect(readdirSync(folder.path)).toEqual(["a"]);
  });

  test("is complete if it has all bytes", async () => {
    await using cli = await serveVolume();
    using folder = folderWith();
    await cli.write("a", "0123");
    await stopped(join(folder.path, "a"), "abcd", await etagOf(cli, "a"));
    expect(await cli.volume(["get", "data", "a"], { cwd: folder.path })).toMatchObject({ code: 0 });
    expect(textOf(folder.path, "a")).toBe("abcd");
  });

  test.each([
    ["shorter than before", "ab"],
    ["longer than before", "0123456789 and more"],
    ["as long as before", "abcd"],
  ])("is discarded if the object has changed, %s", async (_, now) => {
    await using cli = await serveVolume();
    using folder = folderWith();
    await cli.write("a", "earlier");
    await stopped(join(folder.path, "a"), "earl", await etagOf(cli, "a"));
    await cli.write("a", now);
    const { code, stderr } = await cli.volume(["get", "data", "a"], { cwd: folder.path });
    expect(code).toBe(0);
    expect(stderr).toContain("has changed since the partial download. Starting over.");
    expect(textOf(folder.path, "a")).toBe(now);
    expect(readdirSync(folder.path)).toEqual(["a"]);
  });

  test("is discarded if the storage ignores If-Range", async () => {
    const asked: unknown[] = [];
    await using served = await serveFakeStorage((req, res) => {
      const { range, "if-range": tag } = req.headers;
      asked.push([range, tag]);
      if (range === undefined) return res.writeHead(200, { etag: '"new"', "content-length": 6 }).end("abcdef");
      return res.writeHead(206, { etag: '"new"', "content-range": "bytes 2-5/6", "content-length": 4 }).end("cdef");
    });
    using folder = folderWith();
    await served.cli.write("a", "any");
    await stopped(join(folder.path, "a"), "01", '"old"');
    const { code } = await served.cli.volume(["get", "data", "a"], { cwd: folder.path, env: served.env });
    expect(code).toBe(0);
    expect(textOf(folder.path, "a")).toBe("abcdef");
    expect(asked).toEqual([
      ["bytes=2-", '"old"'],
      [undefined, undefined],
    ]);
  });

  test("is distinguished from a user's file of that name", async () => {
    await using cli = await serveVolume();
    using folder = folderWith({ "a.part": "mine" });
    await cli.write("a", "1");
    const { code, stderr } = await cli.volume(["get", "data", "a"], { cwd: folder.path });
    expect(code).toBe(1);
    expect(stderr).toContain("exists, but no earlier 'get' created it");
    expect(textOf(folder.path, "a.part")).toBe("mine");
  });
});

describe("a folder", () => {
  const serveSite = async () => {
    const cli = await serveVolume();
    for (const path of ["www/index.html", "www/css/a.css", "www2/x", "www"]) await cli.write(path, path);
    return cli;
  };

  test.each([
    [["www/"], "www"],
    [["www", "-r"], "www"],
    [["www/", "site"], "site"],
  ])("%j is downloaded completely", async (args, into) => {
    await using cli = await serveSite();
    using folder = folderWith();
    const { code, stdout } = await cli.volume(["get", "data", ...args], { cwd: folder.path });
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `Downloaded 2 files (27 B) to ${join(folder.path, into)}.\n`,
    });
    expect(readdirSync(join(folder.path, into), { recursive: true }).sort()).toEqual([
      "css",
      "css/a.css",
      "index.html",
    ]);
    expect(textOf(folder.path, into, "css/a.css")).toBe("www/css/a.css");
  });

  test("that exists already keeps unchanged files, and replaces changed files only with --force", async () => {
    await using cli = await serveSite();
    using folder = folderWith();
    await cli.volume(["get", "data", "www/"], { cwd: folder.path });
    const again = await cli.volume(["get", "data", "www/"], { cwd: folder.path });
    expect(again.stdout).toContain("Downloaded 0 files (0 B)");
    expect(again.stdout).toContain("Skipped 2 unchanged files");
    await cli.write("www/index.html", "changed");
    const refused = await cli.volume(["get", "data", "www/"], { cwd: folder.path });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("--force");
    const forced = await cli.volume(["get", "data", "www/", "--force"], { cwd: folder.path });
    expect(forced.stdout).toContain("Downloaded 1 file (7 B)");
    expect(textOf(folder.path, "www/index.html")).toBe("changed");
  });

  test("that does not exist is reported", async () => {
    await using cli = await serveSite();
    expect((await cli.volume(["get", "data", "nothing/"])).stderr).toContain("'nothing/' in 'data' has no objects.");
  });

  test.each([["../../evil"], ["www/../../evil"], ["/etc/evil"], ["other/evil"], ["www/a\\..\\evil"]])(
    "in which the platform lists '%s' is rejected before any file is written",
    async (path) => {
      await using cli = await serveSite();
      using folder = folderWith();
      await using front = await serveRewriting(cli.api.url, (at, answer) =>
        at === "/v1/volume/objects"
          ? {
              status: 200,
              json: {
                objects: ["www/index.html", path].map((one) => ({
                  path: one,
                  size: 1,
                  updated: "2026-01-01T00:00:00Z",
                })),
                next_page_token: null,
              },
            }
          : answer,
      );
      const cwd = join(folder.path, "here", "below");
      mkdirSync(cwd, { recursive: true });
      const ran = await cli.volume(["get", "data", "www/"], { cwd, env: { PORTSIDE_URL: front.url } });
      expect(ran.code).toBe(1);
      expect(ran.stderr).toContain("lists the invalid object path");
      expect(readdirSync(folder.path, { recursive: true })).toEqual(["here", "here/below"]);
    },
  );

  test("is rejected if an object has the name of another object's partial download", async () => {
    await using cli = await serveVolume();
    using folder = folderWith();
    await cli.write("f/a", "1");
    await cli.write("f/a.part", "2");
    const { code, stderr } = await cli.volume(["get", "data", "f/"], { cwd: folder.path });
    expect(code).toBe(1);
    expect(stderr).toContain("Download the two separately.");
    expect(existsSync(join(folder.path, "f"))).toBe(false);
  });

  test("keeps the objects' times, which identify unchanged files", async () => {
    const clock = createManualClock();
    await using cli = await serveVolume({ clock });
    using folder = folderWith();
    await cli.write("www/a", "1");
    const { json } = await cli.api.call("GET", "/v1/volume/objects?volume=data");
    await cli.volume(["get", "data", "www/"], { cwd: folder.path });
    const { mtimeMs } = statSync(join(folder.path, "www/a"));
    expect(Math.floor(mtimeMs / 1000)).toBe(Math.floor(Date.parse(json.objects[0].updated) / 1000));
    expect(Date.now() - mtimeMs).toBeGreaterThan(60_000);
    expect((await cli.volume(["get", "data", "www/"], { cwd: folder.path })).stdout).toContain(
      "Skipped 1 unchanged file.",
    );
  });
});
