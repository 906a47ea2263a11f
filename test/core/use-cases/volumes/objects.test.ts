/** Objects of a volume: paged lists, deletion, and signed URLs that expire as announced. */

import { afterEach, describe, expect, test } from "vitest";
import type { ObjectPage } from "../../../../core/domain/volumes/volume.ts";
import type { UploadsInParts } from "../../../../core/ports/volume-store.ts";
import { inOnePiece } from "../../../models/upload-url.ts";
import { type MemoryPlatform, startMemory } from "../../../support/providers/memory-platform.ts";

const MINUTE = 60_000;
const opened: MemoryPlatform[] = [];

/** Starts a platform with a volume `data` of acme, and a volume of the other account. */
const start = async (): Promise<MemoryPlatform> => {
  const platform = startMemory();
  opened.push(platform);
  (await platform.controlPlane.createVolume(platform.principal(), { name: "data" }))._unsafeUnwrap();
  (await platform.controlPlane.createVolume(platform.principal("other"), { name: "theirs" }))._unsafeUnwrap();
  return platform;
};
afterEach(() => Promise.all(opened.splice(0).map(({ memory }) => memory.close())));

const upload = ({ controlPlane, principal }: MemoryPlatform, request: Record<string, unknown>) =>
  controlPlane.grantUpload(principal(), { volume: "data", ...request });
const download = ({ controlPlane, principal }: MemoryPlatform, request: Record<string, unknown>) =>
  controlPlane.grantDownload(principal(), { volume: "data", ...request } as never);
const list = ({ controlPlane, principal }: MemoryPlatform, request: Record<string, unknown> = {}) =>
  controlPlane.listObjects(principal(), { volume: "data", ...request });
const remove = ({ controlPlane, principal }: MemoryPlatform, request: Record<string, unknown>) =>
  controlPlane.deleteObject(principal(), { volume: "data", ...request } as never);

const put = async (platform: MemoryPlatform, path: string, body = path): Promise<string> => {
  const { url } = inOnePiece((await upload(platform, { object: path }))._unsafeUnwrap());
  expect((await fetch(url, { method: "PUT", body })).status).toBe(201);
  return url;
};

describe("list", () => {
  test("returns pages whose token is the last path, and null at the end", async () => {
    const platform = await start();
    for (const path of ["c", "a/2", "b", "a/1"]) await put(platform, path);
    const first = (await list(platform, { limit: 3 }))._unsafeUnwrap();
    const updated = "2026-01-01T00:00:00+00:00";
    expect(first).toEqual({
      objects: ["a/1", "a/2", "b"].map((path) => ({ path, size: path.length, updated })),
      next_page_token: "b",
    });
    // The object that the token names may be deleted meanwhile.
    (await remove(platform, { path: "b" }))._unsafeUnwrap();
    const rest = (await list(platform, { limit: "3", page_token: "b" }))._unsafeUnwrap();
    expect(rest).toMatchObject({ objects: [{ path: "c" }], next_page_token: null });
    expect((await list(platform, { limit: 3, prefix: "a/" }))._unsafeUnwrap()).toMatchObject({
      objects: [{ path: "a/1" }, { path: "a/2" }],
      next_page_token: null,
    });
    expect((await list(platform, { page_token: "zzz" }))._unsafeUnwrap().objects).toEqual([]);
  });

  test("with a delimiter, returns pages of objects and folders whose token is the last of both", async () => {
    const platform = await start();
    for (const path of ["a/1", "a/2/3", "b", "c/1", "d"]) await put(platform, path);
    const pages = async (request: Record<string, unknown>) => {
      const seen: unknown[] = [];
      for (let token: string | null = ""; token !== null; ) {
        const page: ObjectPage = (
          await list(platform, { delimiter: "/", page_token: token, ...request })
        )._unsafeUnwrap();
        seen.push([page.objects.map(({ path }) => path), page.folders, page.next_page_token]);
        token = page.next_page_token;
      }
      return seen;
    };
    expect(await pages({ limit: 2 })).toEqual([
      [["b"], ["a/"], "b"],
      [["d"], ["c/"], null],
    ]);
    expect(await pages({ limit: 3 })).toEqual([
      [["b"], ["a/", "c/"], "c/"],
      [["d"], [], null],
    ]);
    expect(await pages({ limit: 1 })).toEqual([
      [[], ["a/"], "a/"],
      [["b"], [], "b"],
      [[], ["c/"], "c/"],
      [["d"], [], null],
    ]);
    expect(await pages({ prefix: "a/" })).toEqual([[["a/1"], ["a/2/"], null]]);
  });

  test.each(["", undefined])("has no folders with the delimiter %j", async (delimiter) => {
    const platform = await start();
    await put(platform, "a/1");
    const page = (await list(platform, delimiter === undefined ? {} : { delimiter }))._unsafeUnwrap();
    expect(page.objects).toMatchObject([{ path: "a/1" }]);
    expect(page).not.toHaveProperty("folders");
  });

  test("rejects any other delimiter", async () => {
    expect((await list(await start(), { delimiter: "-" }))._unsafeUnwrapErr()).toMatchObject({
      kind: "invalid_input",
      issues: [{ path: ["delimiter"], message: "must be '/'; omit it to list the objects of all folders" }],
    });
  });

  test.each([
    [0, "greater_than_equal"],
    [1001, "less_than_equal"],
    ["many", "int_parsing"],
  ])("rejects the limit %j", async (limit, type) => {
    expect((await list(await start(), { limit }))._unsafeUnwrapErr()).toMatchObject({
      kind: "invalid_input",
      issues: [{ path: ["limit"], type }],
    });
  });
});

describe("delete", () => {
  test("an object can be deleted once", async () => {
    const platform = await start();
    await put(platform, "a");
    expect((await remove(platform, { path: "a" }))._unsafeUnwrap()).toEqual({ detail: "'a' was deleted from 'data'." });
    expect((await remove(platform, { path: "a" }))._unsafeUnwrapErr().kind).toBe("not_found");
  });
});

describe("signed URLs", () => {
  test("of an upload are valid for exactly 60 minutes", async () => {
    const platform = await start();
    const granted = inOnePiece((await upload(platform, { object: "a" }))._unsafeUnwrap());
    expect(granted).toMatchObject({ method: "PUT", expires_at: "2026-01-01T01:00:00+00:00" });
    await platform.clock.advance(60 * MINUTE - 1);
    expect((await fetch(granted.url, { method: "PUT", body: "in time" })).status).toBe(201);
    await platform.clock.advance(1);
    const late = await fetch(granted.url, { method: "PUT", body: "late" });
    expect([late.status, await late.json()]).toEqual([403, { detail: "The URL has expired. Request a new one." }]);
    const { url } = (await download(platform, { path: "a" }))._unsafeUnwrap();
    expect(await (await fetch(url)).text()).toBe("in time");
  });

  test("of a download are valid for 15 minutes, rounded down to a whole second", async () => {
    const platform = await start();
    await platform.clock.advance(400);
    await put(platform, "a");
    const granted = (await download(platform, { path: "a" }))._unsafeUnwrap();
    expect(granted.expires_at).toBe("2026-01-01T00:15:00+00:00");
    await platform.clock.advance(15 * MINUTE - 401);
    expect((await fetch(granted.url)).status).toBe(200);
    await platform.clock.advance(1);
    expect((await fetch(granted.url)).status).toBe(403);
  });

  test("are invalid once the volume is deleted, and valid again after its restore", async () => {
    const platform = await start();
    await put(platform, "a");
    const { url } = (await download(platform, { path: "a" }))._unsafeUnwrap();
    const { controlPlane, principal } = platform;
    (await controlPlane.deleteVolume(principal(), { name: "data" }))._unsafeUnwrap();
    (await controlPlane.createVolume(principal(), { name: "data" }))._unsafeUnwrap();
    await put(platform, "a", "another volume's");
    expect((await fetch(url)).status).toBe(404);
    (await controlPlane.deleteVolume(principal(), { name: "data" }))._unsafeUnwrap();
    const [, first] = (await controlPlane.listTrash(principal()))._unsafeUnwrap();
    const [one] = (await controlPlane.listTrash(principal()))._unsafeUnwrap().filter(({ id }) => url.includes(id));
    expect(first).toBeDefined();
    (await controlPlane.restoreVolume(principal(), { name: "data", id: one?.id }))._unsafeUnwrap();
    expect(await (await fetch(url)).text()).toBe("a");
  });

  test("of an upload too large for one PUT are in parts, up to a maximum", async () => {
    const platform = startMemory({
      around: ({ volumes }) => ({
        volumes: Object.assign(volumes, {
          uploadsInParts: { ...(volumes.uploadsInParts as UploadsInParts), above: 100, maxBytes: 1000 },
        }),
      }),
    });
    opened.push(platform);
    (await platform.controlPlane.createVolume(platform.principal(), { name: "data" }))._unsafeUnwrap();
    expect((await upload(platform, { object: "a", size: 101 }))._unsafeUnwrap()).toMatchObject({
      parts: [{ number: 1, url: expect.stringMatching(/^http/), offset: 0, length: 101 }],
      complete_url: expect.stringMatching(/^http/),
      expires_at: "2026-01-01T01:00:00+00:00",
    });
    for (const size of [0, 100, undefined])
      expect((await upload(platform, { object: "a", size }))._unsafeUnwrap()).toHaveProperty("url");
    expect((await upload(platform, { object: "a", size: 1001 }))._unsafeUnwrapErr()).toMatchObject({
      kind: "invalid_input",
      issues: [{ path: ["size"], type: "less_than_equal" }],
    });
  });

  test("of an upload accept the object under either field name", async () => {
    const platform = await start();
    const pathOf = async (request: Record<string, unknown>) =>
      new URL(inOnePiece((await upload(platform, request))._unsafeUnwrap()).url).pathname.split("/").at(-1);
    expect(await pathOf({ object: "a" })).toBe("a");
    expect(await pathOf({ path: "b" })).toBe("b");
    expect(await pathOf({ object: "c", path: "c" })).toBe("c");
    expect((await upload(platform, {}))._unsafeUnwrapErr()).toMatchObject({
      issues: [{ path: ["object"], message: "is required: the object's path", type: "missing" }],
    });
    expect((await upload(platform, { object: "a", path: "b" }))._unsafeUnwrapErr()).toMatchObject({
      issues: [{ path: ["path"], message: "is 'b', but object is 'a'; send only one", type: "value_error" }],
    });
    // Invalid paths are not compared.
    expect((await upload(platform, { object: "../a", path: "b" }))._unsafeUnwrapErr()).toMatchObject({
      issues: [{ path: ["object"], type: "value_error" }],
    });
  });

  test("requesting a URL creates neither a volume nor an object", async () => {
    const platform = await start();
    const before = platform.memory.snapshot();
    expect((await upload(platform, { volume: "none", object: "a" }))._unsafeUnwrapErr().kind).toBe("not_found");
    expect((await download(platform, { path: "a" }))._unsafeUnwrapErr().kind).toBe("not_found");
    expect(platform.memory.snapshot()).toEqual(before);
  });
});

test.each([
  ["list", (platform: MemoryPlatform, { path: _path, ...request }: Record<string, unknown>) => list(platform, request)],
  ["delete", remove],
  ["upload", upload],
  ["download", download],
] as const)("%s: 403 for another account's volume, 404 for a missing one, 422 before both", async (_name, call) => {
  const platform = await start();
  expect((await call(platform, { volume: "theirs", path: "a" }))._unsafeUnwrapErr()).toEqual({
    kind: "forbidden",
    message: "The volume 'theirs' belongs to another account.",
  });
  expect((await call(platform, { volume: "none", path: "a" }))._unsafeUnwrapErr()).toEqual({
    kind: "not_found",
    message: "Your account has no volume 'none'.",
  });
  const broken = (await call(platform, { volume: "theirs", path: "a", typo: 1 }))._unsafeUnwrapErr();
  expect(broken).toMatchObject({ issues: [{ path: ["typo"], type: "extra_forbidden" }] });
  expect((await call(platform, { volume: undefined, path: "a" }))._unsafeUnwrapErr()).toMatchObject({
    issues: [{ path: ["volume"], type: "missing" }],
  });
});
