/** Truncated uploads leave the earlier object, and no other file. */
import fs, { readdirSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { Readable } from "node:stream";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import type { ObjectPath } from "../../../../core/domain/volumes/object-path.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { serveObjects } from "../../../support/providers/local-objects.ts";
import { eventually } from "../../../support/vitest/eventually.ts";
import { runs } from "../../../support/vitest/runs.ts";

/** Sends fewer bytes than announced, and disconnects. */
const cutAfter = (url: string, bytes: number, announced: number, chunked: boolean): Promise<void> =>
  new Promise((resolve) => {
    const headers = chunked ? { "transfer-encoding": "chunked" } : { "content-length": announced };
    const req = request(url, { method: "PUT", headers });
    req.on("error", () => resolve());
    req.on("close", () => resolve());
    req.flushHeaders();
    req.write(Buffer.alloc(bytes, "x"), () => setTimeout(() => req.destroy(), 5));
    if (bytes === 0) setTimeout(() => req.destroy(), 20);
  });

test("an upload that is truncated anywhere leaves the earlier object and no partial file", async () => {
  using folder = folderWith();
  await using storage = await serveObjects(folder.path);
  await storage.put("a/file", "the earlier one");
  const cut = fc.record({ bytes: fc.nat(400_000), chunked: fc.boolean(), fresh: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(cut, async ({ bytes, chunked, fresh }) => {
      await cutAfter(storage.url("PUT", fresh ? "new/file" : "a/file"), bytes, bytes + 1 + bytes, chunked);
      await eventually(() => expect(readdirSync(storage.uploads)).toEqual([]));
      expect(readFileSync(join(storage.folder, "a/file"), "utf8")).toBe("the earlier one");
      const { objects } = await storage.objects.list("vol-test", { prefix: "", limit: 10 });
      expect(objects.map(({ path }) => path)).toEqual(["a/file"]);
    }),
    runs(40),
  );
  expect(storage.complaints).toEqual([]);
});

const ALWAYS = { ifMatch: undefined, ifNoneMatch: undefined };

test("an upload that is truncated while its file is created leaves no file", async () => {
  using folder = folderWith();
  await using storage = await serveObjects(folder.path);
  const open = fs.open.bind(fs) as (...args: unknown[]) => void;
  let made = 0;
  const slowly = (...args: unknown[]) => {
    const callback = args.pop() as (...answer: unknown[]) => void;
    const tell = (...answer: unknown[]) => {
      made++;
      callback(...answer);
    };
    setTimeout(() => open(...args, tell), 100);
  };
  using _slow = vi.spyOn(fs, "open").mockImplementation(slowly as unknown as typeof fs.open);
  const body = new Readable({ read: () => undefined });
  setImmediate(() => body.destroy(new Error("cut")));
  await expect(storage.objects.put("vol-test", "new/file" as ObjectPath, body, ALWAYS)).rejects.toThrow();
  await eventually(() => expect(made).toBe(1));
  expect(readdirSync(storage.uploads)).toEqual([]);
});

test("the next start removes an interrupted upload", async () => {
  using folder = folderWith({ "uploads/half": "half" });
  await using storage = await serveObjects(folder.path);
  expect(readdirSync(storage.uploads)).toEqual([]);
});

test("concurrent uploads of one object all succeed, and one of them is stored completely", async () => {
  using folder = folderWith();
  await using storage = await serveObjects(folder.path);
  const bodies = Array.from({ length: 12 }, (_, index) => String(index).repeat(200_000));
  const answers = await Promise.all(bodies.map((body) => storage.put("same/object", body)));
  expect(answers.map(({ status }) => status).sort()).toEqual([...Array(11).fill(200), 201]);
  expect(bodies).toContain(readFileSync(join(storage.folder, "same/object"), "utf8"));
});

test("only one of several writers with If-None-Match creates an object", async () => {
  using folder = folderWith();
  await using storage = await serveObjects(folder.path);
  const make = (body: string) =>
    fetch(storage.url("PUT", "lock"), { method: "PUT", body, headers: { "if-none-match": "*" } });
  const answers = await Promise.all(["a", "b", "c", "d"].map(make));
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 412, 412, 412]);
});
