/**
 * Archives over HTTP. Invalid ones are rejected before the stream, with a message that names the entry, and nothing is
 * stored. Valid ones are deployed.
 */
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tarGz, tarOf } from "../../../support/archives/archives.ts";
import { blocksOf, bombs, END, gnuLongName, paxHeader } from "../../../support/archives/odd-archives.ts";
import { recordsOf } from "../../../support/http/api.ts";
import { type DiskApi, serveOnDisk } from "../../../support/http/disk-api.ts";
import { problemsOf } from "../../../support/http/refusals.ts";
import { eventually } from "../../../support/vitest/eventually.ts";

let api: DiskApi;
beforeAll(async () => {
  api = await serveOnDisk();
});
afterAll(() => api[Symbol.asyncDispose]());

const good = { path: "index.js", content: "run()" };
const fields = { function_name: "app", volumes: "{}" };
const tar = tarOf([good, { path: "more", content: "x".repeat(5000) }]);

const refused: Readonly<Record<string, readonly [() => Uint8Array, RegExp]>> = {
  "an empty file": [() => new Uint8Array(), /is empty/],
  "a zip named tar.gz": [() => Buffer.from("PK\u0003\u0004 a zip"), /not a gzip file; pack it with 'tar -czf'/],
  "a tar without gzip": [() => tar, /not a gzip file/],
  "a truncated gzip": [() => gzipSync(tar).subarray(0, 50), /cut off/],
  "a truncated tar": [() => gzipSync(tar.subarray(0, 3000)), /cut off/],
  "a gzip of text": [() => gzipSync("hello"), /not a tar archive/],
  "a parent path": [() => tarGz([good, { path: "a/../../b" }]), /entry "a\/\.\.\/\.\.\/b" leaves the source folder/],
  "an absolute path": [
    () => tarGz([good, { path: "/etc/cron.d/x" }]),
    /entry "\/etc\/cron\.d\/x" has an absolute path/,
  ],
  "a symbolic link": [
    () => tarGz([good, { path: "l", type: "SymbolicLink", linkpath: "index.js" }]),
    /entry "l" is a link/,
  ],
  "a hard link": [() => tarGz([good, { path: "h", type: "Link", linkpath: "index.js" }]), /entry "h" is a link/],
  "a device": [() => tarGz([good, { path: "d", type: "BlockDevice" }]), /entry "d" is a link, a device/],
  "a bomb that declares its size": [
    () => bombs["an entry that claims 10 GB"]?.() as Buffer,
    /entry "big" is larger than 512Mi/,
  ],
  "a bomb that hides its size": [
    () => bombs["zeros after the end of the archive"]?.() as Buffer,
    /has data after its end/,
  ],
};

describe("rejected", () => {
  test.each(Object.entries(refused))("%s", async (_what, [archive, words]) => {
    const answer = await api.deploy(fields, archive());
    expect(problemsOf(answer)).toEqual(["body.source_archive: archive_invalid"]);
    expect(answer.json.detail[0].msg).toMatch(/^the archive /);
    expect(answer.json.detail[0].msg).toMatch(words);
    expect(await api.spooled()).toEqual([]);
  });

  test("by a plan too", async () => {
    const answer = await api.deploy(fields, tarGz([{ path: "../x" }]), { path: "/v1/deploy/plan" });
    expect(problemsOf(answer)).toEqual(["body.source_archive: archive_invalid"]);
  });

  test("without deploying anything", async () => {
    expect((await api.call("GET", "/v1/deployment/list")).json).toEqual([]);
  });
});

describe("accepted", () => {
  const long = `${"folder/".repeat(20)}file`;
  const archives: Readonly<Record<string, Uint8Array>> = {
    "a set-user-id file": tarGz([{ ...good, mode: 0o4755 }]),
    "an empty folder": tarGz([good, { path: "empty/", type: "Directory" }]),
    "a long name of GNU tar": gzipSync(Buffer.concat([gnuLongName(long), blocksOf({ path: "short" }), END])),
    "a long name of pax": gzipSync(Buffer.concat([paxHeader({ path: long }), blocksOf({ path: "short" }), END])),
    "a header of git archive": gzipSync(Buffer.concat([paxHeader({ comment: "1234" }, "g"), blocksOf(good), END])),
    "names in any script": tarGz([good, { path: "ünï/çødé/日本語/😀" }]),
    "the fastest packing": gzipSync(tar, { level: 1 }),
  };

  test.each(Object.entries(archives))("%s", async (_what, archive) => {
    expect(recordsOf(await api.deploy(fields, archive)).at(-1)).toMatchObject({ status: "DONE" });
    await eventually(async () => expect(await api.spooled()).toEqual([]));
  });

  test("by a plan, which stores nothing", async () => {
    const answer = await api.deploy(fields, tarGz([good]), { path: "/v1/deploy/plan" });
    expect(answer.json).toMatchObject({ name: "app", action: "update" });
    expect(await api.spooled()).toEqual([]);
  });
});
