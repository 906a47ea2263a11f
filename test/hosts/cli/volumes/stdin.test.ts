/** `portside volume put VOLUME -` on a platform whose storage requires an object's length before its bytes. */
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { awsVolumes } from "../../../../adapters/aws/volumes/capabilities.ts";
import { createMemoryProvider } from "../../../../adapters/memory/index.ts";
import { spoolSource } from "../../../../hosts/cli/volumes/transfer/spool-source.ts";
import { readStorageError } from "../../../../hosts/client/storage/storage-error.ts";
import { volumesOver } from "../../../adapters/aws/volumes/subject.ts";
import { type FakeS3, startFakeS3 } from "../../../fakes/aws/s3/index.ts";
import { STATE_BUCKET } from "../../../fakes/aws/test-config.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { startCli } from "../../../support/cli/cli-process.ts";
import { serveVolumeOver, type VolumeCli } from "../../../support/cli/volume-cli.ts";
import { serveRewriting } from "../../../support/http/rewriting-proxy.ts";

const MiB = 1024 ** 2;

interface OnS3 extends AsyncDisposable {
  readonly s3: FakeS3;
  readonly cli: VolumeCli;
}

/** The API with the memory provider, whose volumes are buckets of the fake S3. */
const serveOnS3 = async (): Promise<OnS3> => {
  const s3 = await startFakeS3({ buckets: [STATE_BUCKET] });
  const memory = createMemoryProvider();
  const volumes = volumesOver(s3);
  const { capabilities } = memory.provider;
  const provider = { ...memory.provider, volumes, capabilities: { ...capabilities, volumes: awsVolumes } };
  const cli = await serveVolumeOver({ ...memory.ports, provider });
  return {
    s3,
    cli,
    [Symbol.asyncDispose]: async () => {
      await cli[Symbol.asyncDispose]();
      await volumes.idle();
      await memory.close();
      await s3.close();
    },
  };
};

/** Starts a process that reads its input from the test and spools it in this folder. */
const startPut = ({ cli }: OnS3, folder: string, url = cli.env["PORTSIDE_URL"]) =>
  startCli(
    ["volume", "put", "data", "-", "in.bin"],
    { ...cli.env, PORTSIDE_URL: url, TMPDIR: folder },
    folder,
    [],
    "pipe",
  );

/** The remaining files; Node keeps its compiled code there as well. */
const leftIn = (folder: string): string[] => readdirSync(folder).filter((name) => name !== "node-compile-cache");

const write = async ({ stdin }: ReturnType<typeof startPut>["child"], bytes: Buffer): Promise<void> => {
  if (stdin?.write(bytes) === false) await once(stdin, "drain");
};

describe("a process that reads from a pipe", () => {
  test("sends its input with the length, and leaves no file behind", async () => {
    await using platform = await serveOnS3();
    using folder = folderWith();
    const { child, ended } = startPut(platform, folder.path);
    const pieces = [1, 2, 3].map((fill) => Buffer.alloc(MiB, fill));
    for (const piece of pieces) await write(child, piece);
    child.stdin?.end();
    expect(await ended).toEqual({ code: 0, stdout: "Uploaded 'in.bin' (3 MiB) to 'data'.\n", stderr: "" });
    expect((await platform.cli.read("in.bin"))?.equals(Buffer.concat(pieces))).toBe(true);
    expect(leftIn(folder.path)).toEqual([]);
  });

  test("sends empty input as an empty object", async () => {
    await using platform = await serveOnS3();
    using folder = folderWith();
    const { child, ended } = startPut(platform, folder.path);
    child.stdin?.end();
    expect(await ended).toMatchObject({ code: 0 });
    expect((await platform.cli.read("in.bin"))?.length).toBe(0);
  });

  test("retries with the whole input after a broken connection", async () => {
    await using platform = await serveOnS3();
    using folder = folderWith();
    platform.s3.faults.inject({ method: "s3.PutObject", nth: 1, kind: "unavailable" });
    const { child, ended } = startPut(platform, folder.path);
    await write(child, Buffer.alloc(MiB, 7));
    child.stdin?.end();
    expect(await ended).toMatchObject({ code: 0 });
    expect((await platform.cli.read("in.bin"))?.equals(Buffer.alloc(MiB, 7))).toBe(true);
  });

  test.each(["SIGINT", "SIGTERM", "SIGKILL"] as const)("leaves neither file nor object after %s", async (signal) => {
    await using platform = await serveOnS3();
    using folder = folderWith();
    const { child, ended } = startPut(platform, folder.path);
    // More than a pipe holds, so the process has read some of it when the write completes.
    await write(child, Buffer.alloc(4 * MiB));
    child.kill(signal);
    expect((await ended).code).toBe(signal === "SIGKILL" ? null : 130);
    expect(leftIn(folder.path)).toEqual([]);
    expect(await platform.cli.paths()).toEqual([]);
  });

  test("reports the storage's error on a platform without the capability", async () => {
    await using platform = await serveOnS3();
    await using front = await serveRewriting(platform.cli.api.url, (path, answer) => {
      if (path !== "/v1/capabilities") return answer;
      const { volumes, ...rest } = answer.json as { volumes: Record<string, unknown> };
      const { unsized_uploads: _new, ...older } = volumes;
      return { ...answer, json: { ...rest, volumes: older } };
    });
    using folder = folderWith();
    const { child, ended } = startPut(platform, folder.path, front.url);
    child.stdin?.end("bytes");
    const { code, stderr } = await ended;
    expect(code).toBe(1);
    expect(stderr).toContain(
      "The storage rejected the request (MissingContentLength). You must provide the Content-Length",
    );
    expect(stderr).toContain("Write the data to a file, and upload the file.");
  });
});

test("shows the bytes read and then the bytes sent on a terminal", async () => {
  await using platform = await serveOnS3();
  const stdin = Buffer.alloc(MiB);
  const { stderr } = await platform.cli.volume(["put", "data", "-", "in.bin"], { stdin, columns: 100 });
  expect(stderr).toContain("reading standard input");
  expect(stderr).toMatch(/mstandard input {2} {2}0 % .* 0 B of 1 MiB/);
});

describe("a spooled source", () => {
  const signal = new AbortController().signal;
  const sourceOf = (open: () => AsyncIterable<Uint8Array>) => ({ name: "standard input", size: undefined, open });

  test("fails with a message if the disk is full, and leaves no file", async () => {
    using folder = folderWith();
    const rooms = [1024 * MiB, 1024 * MiB, 70 * MiB];
    const pieces = sourceOf(async function* () {
      for (;;) {
        await turn();
        yield new Uint8Array(MiB);
      }
    });
    const kept = spoolSource(pieces, {
      signal,
      onSpooled: () => undefined,
      folder: folder.path,
      freeBytesIn: async () => rooms.shift() ?? 0,
    });
    await expect(kept).rejects.toThrow(
      /^The disk of '.*' has too little free space after 30 MiB of 'standard input'\. .* Set TMPDIR .* Nothing was uploaded\.$/,
    );
    expect(leftIn(folder.path)).toEqual([]);
  });

  test("that cannot be read to its end is reported", async () => {
    const broken = sourceOf(async function* () {
      yield new Uint8Array(1);
      throw new Error("the other end went");
    });
    const kept = spoolSource(broken, { signal, onSpooled: () => undefined });
    await expect(kept).rejects.toThrow(
      "Cannot copy 'standard input' to disk: the other end went. Nothing was uploaded.",
    );
  });
});

describe("a storage's error", () => {
  const answer = (status: number, code: string, message: string) =>
    readStorageError(
      new Response(
        `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}</Message><RequestId>1</RequestId></Error>`,
        { status },
      ),
    );

  test.each([
    [
      403,
      "AccessDenied",
      "Request has expired",
      "The storage rejected the request (AccessDenied). Request has expired.",
    ],
    [
      400,
      "KeyTooLongError",
      "Your key is &lt;too&gt; long &#38; &#x41;",
      "(KeyTooLongError). Your key is <too> long & A.",
    ],
    [403, "RequestTimeTooSkewed", "The difference is too large.", "too large. Correct the clock of this machine."],
  ])("%i %s is reported with its message", async (status, code, message, words) => {
    const refused = await answer(status, code, message);
    expect(refused.message).toContain(words);
    expect(refused).toMatchObject({ status });
  });

  test.each([
    [400, "RequestTimeout", "Your socket connection was idle."],
    [500, "InternalError", "We encountered an internal error. Please try again."],
  ])("%i %s is temporary, and not a rejection", async (status, code, message) => {
    const error = await answer(status, code, message);
    expect([error.constructor.name, error.message]).toEqual(["ConnectionError", expect.stringContaining(message)]);
  });

  test.each([408, 500, 502, 504])("with status %i is temporary, whatever its body is", async (status) => {
    const error = await readStorageError(new Response("<html>", { status }));
    expect([error.constructor.name, error.message]).toEqual([
      "ConnectionError",
      expect.stringContaining(`status ${status}`),
    ]);
  });

  test("without a message is reported by its status", async () => {
    expect((await readStorageError(new Response("<html>", { status: 418 }))).message).toBe(
      "The platform responded with status 418.",
    );
    expect((await readStorageError(new Response('{"detail": "gone"}', { status: 404 }))).message).toBe("gone");
  });
});
