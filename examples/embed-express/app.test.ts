import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { createApp } from "./app.ts";

test("a signed-in user calls Portside over HTTP without a key", async (context) => {
  const app = (await createApp()).listen(0, "127.0.0.1");
  await once(app, "listening");
  context.after(() => app.close());
  const url = `http://127.0.0.1:${(app.address() as AddressInfo).port}`;
  const headers = { cookie: "session=s1", "content-type": "application/json" };
  const made = await fetch(`${url}/platform/v1/volume/create`, { method: "POST", headers, body: '{"name":"photos"}' });
  assert.equal(made.status, 200, await made.text());
  const listed = (await (await fetch(`${url}/platform/v1/volume/list`, { headers })).json()) as { name: string }[];
  assert.deepEqual(
    listed.map(({ name }) => name),
    ["photos"],
  );
  const stranger = await fetch(`${url}/platform/v1/volume/list`);
  assert.deepEqual([stranger.status, await stranger.json()], [401, { detail: "Log in first." }]);
  assert.match(await (await fetch(url)).text(), /^Your application; Portside is under \/platform\./);
});
