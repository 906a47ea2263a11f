import assert from "node:assert/strict";
import { test } from "node:test";
import { createApp } from "./app.ts";

test("the application's users call Portside under its prefix, each with their own volumes", async (context) => {
  const app = await createApp({ quiet: true });
  context.after(() => app.close());
  const as = (user: string) => ({ authorization: `Bearer token-of-${user}` });
  const payload = { name: "photos" };
  const made = await app.inject({ method: "POST", url: "/platform/v1/volume/create", headers: as("ann"), payload });
  assert.equal(made.statusCode, 200, made.body);
  const volumes = async (user: string) =>
    (await app.inject({ url: "/platform/v1/volume/list", headers: as(user) })).json();
  assert.deepEqual(
    (await volumes("ann")).map(({ name }: { name: string }) => name),
    ["photos"],
  );
  assert.deepEqual(await volumes("bob"), []);
});

test("returns 401 without a token, and the application's own routes still work", async (context) => {
  const app = await createApp({ quiet: true });
  context.after(() => app.close());
  assert.equal((await app.inject({ url: "/platform/v1/volume/list" })).statusCode, 401);
  assert.match((await app.inject({ url: "/" })).body, /^Your application; Portside is under \/platform\./);
});
