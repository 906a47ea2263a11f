/** `portside volume put` against the real HTTP API and the real storage endpoint. */
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  S3Client,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { describe, expect, test } from "vitest";
import { startFakeS3 } from "../../../fakes/aws/s3/index.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { serveVolume } from "../../../support/cli/volume-cli.ts";
import { serveRewriting } from "../../../support/http/rewriting-proxy.ts";
import { serveFakeStorage } from "../../../support/providers/fake-storage.ts";

describe("one file", () => {
  test.each([
    [[], "report.txt"],
    [["other.txt"], "other.txt"],
    [["2026/"], "2026/report.txt"],
    [["/"], "report.txt"],
    [["a/b c%/ü"], "a/b c%/ü"],
  ])("is uploaded to %j as %s", async (path, expected) => {
    await using cli = await serveVolume();
    using folder = folderWith({ "report.txt": "figures" });
    const ran = await cli.volume(["put", "data", "report.txt", ...path], { cwd: folder.path });
    expect(ran).toEqual({ code: 0, stdout: `Uploaded '${expected}' (7 B) to 'data'.\n`, stderr: "" });
    expect(await cli.paths()).toEqual([expected]);
    expect(String(await cli.read(expected))).toBe("figures");
  });

  test("that is empty becomes an empty object, and replaces the previous one", async () => {
    await using cli = await serveVolume();
    using folder = folderWith({ a: "" });
    await cli.write("a", "before");
    expect(await cli.volume(["put", "data", "a"], { cwd: folder.path })).toMatchObject({ code: 0 });
    expect((await cli.read("a"))?.length).toBe(0);
  });

  test("prints a line of JSON with --json, and a bar on a terminal", async () => {
    await using cli = await serveVolume();
    using folder = folderWith({ a: "12" });
    const json = await cli.volume(["put", "data", "a", "--json"], { cwd: folder.path });
    expect(JSON.parse(json.stdout)).toEqual({ volume: "data", path: "a", size: 2 });
    const { stderr } = await cli.volume(["put", "data", "a"], { cwd: folder.path, columns: 100 });
    expect(stderr).toContain("a  100 % ▕██████████▏ 2 B of 2 B");
    expect(stderr.endsWith("\r\u001b[2K")).toBe(true);
  });

  test.each([
    ["nothing.txt", [], "'nothing.txt' does not exist."],
    ["a/inner", [], "'a/inner' cannot be opened: a part of its path is a file, not a folder."],
    [".", [], "is a folder. Upload it with -r"],
    ["a", ["/abs"], "must be relative: remove the leading '/'"],
    ["a", ["x/../y"], "must not have '.' or '..' as a part"],
    ["-", [], "Standard input has no name"],
    ["-", ["folder/"], "Standard input has no name"],
  ])("%s %j is a usage error", async (source, path, words) => {
    using folder = folderWith({ a: "1" });
    await using cli = await serveVolume();
    const { code, stderr } = await cli.volume(["put", "data", source, ...path], { cwd: folder.path });
    expect(code).toBe(2);
    expect(stderr).toContain(words);
  });

  test("into a missing volume fails: an upload never creates one", async () => {
    await using cli = await serveVolume();
    using folder = folderWith({ a: "1" });
    const { code, stderr } = await cli.volume(["put", "dada", "a"], { cwd: folder.path });
    expect(code).toBe(1);
    expect(stderr).toContain("Your account has no volume 'dada'");
  });
});

test("uploads standard input to the given path", async () => {
  await using cli = await serveVolume();
  expect(await cli.volume(["put", "data", "-", "in.txt"], { stdin: "from a pipe" })).toMatchObject({ code: 0 });
  expect(String(await cli.read("in.txt"))).toBe("from a pipe");
});

describe("a folder", () => {
  const files = { "index.html": "<p>", "css/a.css": "a", ".hidden": "h", "node_modules/x.js": "x" };

  test.each([
    [[], "site/"],
    [["www"], "www/"],
    [["www/"], "www/"],
    [["/"], ""],
  ])("is uploaded with -r below %j", async (path, prefix) => {
    await using cli = await serveVolume();
    using folder = folderWith(Object.fromEntries(Object.entries(files).map(([name, text]) => [`site/${name}`, text])));
    const ran = await cli.volume(["put", "data", "-r", "site", ...path], { cwd: folder.path });
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    expect(ran.stdout).toMatch(/^Uploaded 4 files \(6 B\) to /);
    expect((await cli.paths()).sort()).toEqual(
      Object.keys(files)
        .map((name) => prefix + name)
        .sort(),
    );
    expect(String(await cli.read(`${prefix}css/a.css`))).toBe("a");
  });

  test("prints each file with --json", async () => {
    await using cli = await serveVolume();
    using folder = folderWith(files);
    const { stdout } = await cli.volume(["put", "data", "-r", ".", "/", "--json"], { cwd: folder.path });
    const lines = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).path);
    expect(lines.sort()).toEqual(Object.keys(files).sort());
  });

  test("follows links within it", async () => {
    await using cli = await serveVolume();
    using folder = folderWith({ "real/a": "1" });
    symlinkSync("real", join(folder.path, "link"));
    symlinkSync("real/a", join(folder.path, "b"));
    expect(await cli.volume(["put", "data", "-r", ".", "/"], { cwd: folder.path })).toMatchObject({ code: 0 });
    expect(await cli.paths()).toEqual(["b", "link/a", "real/a"]);
  });

  test("with links out of it, broken or cyclic links, or invalid names reports all of them and sends nothing", async () => {
    await using cli = await serveVolume();
    using outside = folderWith({ secret: "s" });
    using folder = folderWith({ good: "1", "sub/a": "1", "back\\slash": "1", "line\nbreak": "1" });
    symlinkSync(join(outside.path, "secret"), join(folder.path, "out"));
    symlinkSync("nowhere", join(folder.path, "dangling"));
    symlinkSync("..", join(folder.path, "sub", "round"));
    const { code, stdout, stderr } = await cli.volume(["put", "data", "-r", ".", "/"], { cwd: folder.path });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    for (const words of [
      "Nothing was uploaded",
      "'out' is a link to a path outside the folder",
      "'dangling' is a broken link",
      "'sub/round' is a link to one of its parent folders",
      "'back\\slash' is not a valid object path: an object path must not contain a backslash",
      "must not contain control characters",
    ])
      expect(stderr).toContain(words);
    expect(await cli.paths()).toEqual([]);
  });

  test("without files is reported", async () => {
    await using cli = await serveVolume();
    using folder = folderWith();
    expect((await cli.volume(["put", "data", "-r", folder.path])).stderr).toContain("' has no files to upload.");
  });
});

describe("an upload", () => {
  test("replaces an expired URL once", async () => {
    await using cli = await serveVolume();
    let asked = 0;
    const expired = (url: string) => url.replace(/expires=\d+/, "expires=1");
    await using front = await serveRewriting(cli.api.url, (path, answer) => {
      if (path !== "/v1/volume/upload") return answer;
      const { url, ...rest } = answer.json as { url: string };
      return { ...answer, json: { ...rest, url: ++asked === 1 ? expired(url) : url } };
    });
    using folder = folderWith({ a: "1" });
    const env = { PORTSIDE_URL: front.url };
    expect(await cli.volume(["put", "data", "a"], { cwd: folder.path, env })).toMatchObject({ code: 0 });
    expect(asked).toBe(2);
    await using always = await serveRewriting(cli.api.url, (path, answer) => {
      if (path !== "/v1/volume/upload") return answer;
      const { url, ...rest } = answer.json as { url: string };
      return { ...answer, json: { ...rest, url: expired(url) } };
    });
    const refused = await cli.volume(["put", "data", "a"], { cwd: folder.path, env: { PORTSIDE_URL: always.url } });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("signature");
  });

  test("waits for the rate limit's Retry-After", async () => {
    await using cli = await serveVolume();
    let asked = 0;
    await using front = await serveRewriting(cli.api.url, (path, answer) =>
      path === "/v1/volume/upload" && ++asked < 3
        ? { status: 429, json: { detail: "Too many requests." }, headers: { "retry-after": "0" } }
        : answer,
    );
    using folder = folderWith({ a: "1" });
    const ran = await cli.volume(["put", "data", "a"], { cwd: folder.path, env: { PORTSIDE_URL: front.url } });
    expect(ran).toMatchObject({ code: 0 });
    expect(asked).toBe(3);
  });

  test("is sent in parts, and a part without a response is sent again", async () => {
    await using cli = await serveVolume();
    const storage = await startFakeS3({ buckets: ["parts"] });
    storage.world.partMin = 1;
    const client = storage.client;
    const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket: "parts", Key: "a" }));
    const at = { Bucket: "parts", Key: "a", UploadId };
    const checksums = { ...storage.clientConfig, requestChecksumCalculation: "WHEN_REQUIRED" as const };
    const signer = new S3Client(checksums);
    const ranges = [
      { offset: 0, length: 4 },
      { offset: 4, length: 4 },
      { offset: 8, length: 1 },
    ];
    const parts = await Promise.all(
      ranges.map(async (range, index) => ({
        url: await getSignedUrl(signer, new UploadPartCommand({ ...at, PartNumber: index + 1 })),
        ...range,
      })),
    );
    const complete_url = await getSignedUrl(signer, new CompleteMultipartUploadCommand(at));
    await using front = await serveRewriting(cli.api.url, (path, answer) =>
      path === "/v1/volume/upload" ? { status: 200, json: { parts, complete_url, expires_at: "" } } : answer,
    );
    storage.faults.inject({ method: "s3.UploadPart", nth: 2, kind: "reply_lost" });
    using folder = folderWith({ a: "123456789" });
    const ran = await cli.volume(["put", "data", "a"], { cwd: folder.path, env: { PORTSIDE_URL: front.url } });
    expect(ran).toMatchObject({ code: 0, stdout: "Uploaded 'a' (9 B) to 'data'.\n" });
    expect(storage.world.bucket("parts").objects.get("a")?.bytes.toString()).toBe("123456789");
    expect(storage.faults.count("s3.UploadPart")).toBe(4);
    await storage.close();
  });

  /** A storage that responds to the PUT of each part with a status of the test. Each call grants a new upload. */
  const serveParts = async (answer: (upload: number, part: number) => number) => {
    const calls: string[] = [];
    const storage = await serveFakeStorage((req, res) => {
      const [upload, part] = (req.url ?? "").slice(1).split("/").map(Number);
      calls.push(req.method === "POST" ? `complete ${upload}` : `part ${upload}.${part}`);
      const status = req.method === "POST" ? 200 : answer(upload ?? 0, part ?? 0);
      req.resume().on("end", () => res.writeHead(status, { etag: `"${part}"`, "retry-after": "0" }).end());
    });
    let uploads = 0;
    const front = await serveRewriting(storage.cli.api.url, (path, granted) => {
      if (path !== "/v1/volume/upload") return granted;
      const upload = ++uploads;
      const urlOf = (name: string) => `${storage.url}/${upload}/${name}`;
      const parts = [0, 3, 6].map((offset) => ({ url: urlOf(String(offset / 3 + 1)), offset, length: 3 }));
      return { status: 200, json: { parts, complete_url: urlOf("complete"), expires_at: "" } };
    });
    return {
      calls,
      put: (cwd: string) => storage.cli.volume(["put", "data", "a"], { cwd, env: { PORTSIDE_URL: front.url } }),
      [Symbol.asyncDispose]: async () => {
        await front[Symbol.asyncDispose]();
        await storage[Symbol.asyncDispose]();
      },
    };
  };

  test("does not resend stored parts, however often a different part fails", async () => {
    let failures = 6;
    await using storage = await serveParts((_upload, part) => (part === 2 && failures-- > 0 ? 503 : 200));
    using folder = folderWith({ a: "123456789" });
    expect(await storage.put(folder.path)).toMatchObject({ code: 0, stdout: "Uploaded 'a' (9 B) to 'data'.\n" });
    expect(storage.calls).toEqual(["part 1.1", ...Array(7).fill("part 1.2"), "part 1.3", "complete 1"]);
  });

  test("resends all parts if the URLs have expired", async () => {
    await using storage = await serveParts((upload, part) => (upload === 1 && part === 3 ? 403 : 200));
    using folder = folderWith({ a: "123456789" });
    expect(await storage.put(folder.path)).toMatchObject({ code: 0, stdout: "Uploaded 'a' (9 B) to 'data'.\n" });
    expect(storage.calls.slice(3)).toEqual(["part 2.1", "part 2.2", "part 2.3", "complete 2"]);
  });
});

describe("an interrupted upload reports its state", () => {
  /** The storage never responds to the PUT of `last`. Interrupts once all other files are reported as sent. */
  const interrupted = async (files: Readonly<Record<string, string>>, last: string, ...args: string[]) => {
    const stop = new AbortController();
    let reported = 0;
    let waits = false;
    const interrupt = () => waits && reported === Object.keys(files).length - 1 && stop.abort();
    await using storage = await serveFakeStorage((req, res) => {
      if (!req.url?.includes(last)) return void req.resume().on("end", () => res.writeHead(204).end());
      waits = true;
      interrupt();
    });
    using folder = folderWith(files);
    return await storage.cli.volume(["put", "data", "--json", ...args], {
      cwd: folder.path,
      env: storage.env,
      signal: stop.signal,
      onOutput: (text) => {
        reported += text.split("\n").length - 1;
        interrupt();
      },
    });
  };

  test("a file", async () => {
    expect(await interrupted({ "a.bin": "1" }, "a.bin", "a.bin")).toEqual({
      code: 130,
      stdout: "",
      stderr:
        "Interrupted. 'data' is unchanged, because the upload of 'a.bin' was incomplete. Run the command again to start over.\n",
    });
  });

  test("a folder", async () => {
    const { code, stderr } = await interrupted({ "www/a": "1", "www/b": "2", "www/last": "3" }, "last", "-r", "www");
    expect(code).toBe(130);
    expect(stderr).toBe(
      "Interrupted. Uploaded 2 of 3 files to 'www/' in 'data'. Run the command again to upload all of them.\n",
    );
  });
});
