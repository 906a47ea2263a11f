/** Concurrent uploads of one account: one over the limit promptly fails with 429. Other accounts are not affected. */
import { describe, expect, test } from "vitest";
import { recordsOf } from "../../../support/http/api.ts";
import { serveOnDisk } from "../../../support/http/disk-api.ts";
import { bigArchive, uploadHalf } from "../../../support/http/half-upload.ts";
import { detailOf } from "../../../support/http/refusals.ts";

const form = { function_name: "third", volumes: "{}" };

test("accepts two concurrent uploads, rejects the third with a retry hint, and accepts it later", async () => {
  await using api = await serveOnDisk();
  const [first, second] = [await uploadHalf(api), await uploadHalf(api)];
  const refused = await api.deploy(form, bigArchive);
  expect(detailOf(refused, 429)).toContain("limit of concurrent uploads (2)");
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(await api.spooled()).toHaveLength(2);
  first.finish();
  expect(await first.closed).toContain('"DONE"');
  expect(recordsOf(await api.deploy(form, bigArchive)).at(-1)).toMatchObject({ status: "DONE" });
  second.finish();
  expect(await second.closed).toContain('"DONE"');
});

test("another account has its own limit", async () => {
  await using api = await serveOnDisk({ accountLimits: { uploadsAtOnce: 1 } });
  const upload = await uploadHalf(api);
  detailOf(await api.deploy(form, bigArchive), 429);
  expect((await api.deploy(form, bigArchive, { account: "beta" })).status).toBe(200);
  upload.finish();
  await upload.closed;
});

describe("a request over the limit", () => {
  test("is rejected for the limit, whatever its other errors", async () => {
    await using api = await serveOnDisk({ accountLimits: { uploadsAtOnce: 1 } });
    const upload = await uploadHalf(api);
    detailOf(await api.deploy({ ...form, port: "0" }, bigArchive), 429);
    upload.finish();
    await upload.closed;
  });

  test("may be a plan without a source, which is not an upload", async () => {
    await using api = await serveOnDisk({ accountLimits: { uploadsAtOnce: 1 } });
    const upload = await uploadHalf(api);
    expect((await api.deploy(form, undefined, { path: "/v1/deploy/plan" })).status).toBe(200);
    detailOf(await api.deploy(form, bigArchive, { path: "/v1/deploy/plan" }), 429);
    upload.finish();
    await upload.closed;
  });

  test("may be large: the server drains it, and its client receives the response", async () => {
    await using api = await serveOnDisk({ accountLimits: { uploadsAtOnce: 1 } });
    const upload = await uploadHalf(api);
    for (let time = 0; time < 5; time++) detailOf(await api.deploy(form, new Uint8Array(30 * 1024 * 1024)), 429);
    upload.finish();
    await upload.closed;
  });
});

test("a rejected or abandoned upload frees its slot", async () => {
  await using api = await serveOnDisk({ accountLimits: { uploadsAtOnce: 1 } });
  for (let time = 0; time < 3; time++) expect((await api.deploy(form, Buffer.from("no archive"))).status).toBe(422);
  expect((await api.deploy(form, bigArchive)).status).toBe(200);
});
