/** Cancelling a deploy over HTTP ends it with `interrupted`. Once it has ended, the call fails with 409. */
import { describe, expect, test } from "vitest";
import { sourceOf } from "../../../support/archives/archives.ts";
import { recordsOf, type TestApi } from "../../../support/http/api.ts";
import { serveHeld } from "../../../support/http/held-api.ts";
import { deployForm, openRecords } from "../../../support/http/record-stream.ts";
import { detailOf } from "../../../support/http/refusals.ts";

const archive = sourceOf({ "index.js": "run()" });
const form = () => deployForm({ function_name: "app", volumes: "{}" }, archive);

const cancelOf =
  (api: TestApi) =>
  (deploy_id: string, account = "acme") =>
    api.call("POST", "/v1/deploy/cancel", { json: { deploy_id }, account });

test("ends a building deploy with `interrupted`, without leftovers", async () => {
  await using platform = await serveHeld();
  const { api, key, held } = platform;
  const cancel = cancelOf(api);
  const stream = await openRecords(api, "/v1/deploy", { key, form: form() });
  const { deploy_id: id } = await stream.next();
  await held.waiting;
  expect((await cancel(id)).json).toEqual({ detail: "The deploy of 'app' was cancelled." });
  expect((await stream.rest()).at(-1)).toMatchObject({ status: "ERROR", reason: "interrupted" });
  expect((await api.call("GET", "/v1/deployment/list")).json).toEqual([]);
});

test("ends a queued deploy, and the running one continues", async () => {
  await using platform = await serveHeld();
  const { api, key, held } = platform;
  const cancel = cancelOf(api);
  const first = await openRecords(api, "/v1/deploy", { key, form: form() });
  await held.waiting;
  const second = await openRecords(api, "/v1/deploy", { key, form: form() });
  const { deploy_id: id } = await second.next();
  expect((await cancel(id)).status).toBe(200);
  expect((await second.rest()).at(-1)).toMatchObject({ status: "ERROR", reason: "interrupted" });
  held.release();
  expect((await first.rest()).at(-1)).toMatchObject({ status: "DONE" });
});

describe("errors", () => {
  test("returns 409 for a finished deploy, and does not change it", async () => {
    await using platform = await serveHeld();
    const { api, held } = platform;
    held.release();
    const records = recordsOf(await api.deploy({ function_name: "app", volumes: "{}" }, archive));
    expect(detailOf(await cancelOf(api)(records[0].deploy_id), 409)).toContain("has already ended with DONE");
    expect((await api.call("GET", "/v1/deployment/list")).json[0].status).toBe("READY");
  });

  test("returns 404 for an unknown deploy", async () => {
    await using platform = await serveHeld();
    detailOf(await cancelOf(platform.api)("never-was"), 404);
  });
});

test("returns 403 for another account's deploy, which continues", async () => {
  await using platform = await serveHeld();
  const { api, key, held } = platform;
  const cancel = cancelOf(api);
  const stream = await openRecords(api, "/v1/deploy", { key, form: form() });
  const { deploy_id: id } = await stream.next();
  await held.waiting;
  detailOf(await cancel(id, "stranger"), 403);
  held.release();
  expect((await stream.rest()).at(-1)).toMatchObject({ status: "DONE" });
});

test("a delete of the deployment ends its deploys with `deleted`", async () => {
  await using platform = await serveHeld();
  const { api, key, held } = platform;
  const stream = await openRecords(api, "/v1/deploy", { key, form: form() });
  await held.waiting;
  const answer = await api.call("POST", "/v1/deployment/delete", { json: { name: "app" } });
  expect(answer.status).toBe(200);
  expect((await stream.rest()).at(-1)).toMatchObject({ status: "ERROR", reason: "deleted" });
});
