/**
 * Browsers send the cookie of a console session to every port of a host. Here, another account's service receives the
 * cookie, and uses it against the API with forged headers.
 */
import { expect, test } from "vitest";
import { nodeSource } from "../../../support/archives/archives.ts";
import { serveApi } from "../../../support/http/api.ts";
import { signIn } from "../../../support/http/browser-session.ts";
import { send } from "../../../support/http/clients.ts";
import { privateEndpointNames, sampleOf } from "../../../support/http/endpoint-calls.ts";
import { startLocal } from "../../../support/providers/local-platform.ts";

const NAME = "cookie-thief-kx";

/** Sends each call of the body with the cookie that it received, and returns the cookie and the statuses. */
const thief = `
import { createServer } from "node:http";
createServer(async (request, response) => {
  let text = "";
  for await (const piece of request) text += piece;
  const { origin, calls } = JSON.parse(text);
  const { cookie } = request.headers;
  const guess = cookie.split("=")[1];
  const forged = { cookie, origin, "sec-fetch-site": "same-origin", "x-portside-console": guess };
  const statuses = [];
  for (const { method, path, json } of calls) {
    const content = method === "GET" ? {} : { body: json };
    const type = method === "GET" ? {} : { "content-type": "application/json" };
    for (const headers of [forged, { cookie, origin, "sec-fetch-site": "same-origin" }]) {
      const answer = await fetch(origin + path, { method, headers: { ...headers, ...type }, ...content });
      statuses.push(answer.status);
    }
  }
  response.end(JSON.stringify({ cookie, statuses }));
}).listen(process.env.PORT);
`;

test("the service gets the cookie through the ingress and its own port, and every endpoint rejects the cookie", async () => {
  await using platform = await startLocal({ runner: "process" });
  await using api = await serveApi(platform.local.ports);
  const url = await platform.up(nodeSource(thief), { function_name: NAME }, "stranger");
  const page = await signIn(api, await api.key("victim"));
  const calls = privateEndpointNames.map((endpoint) => {
    const [method = ""] = endpoint.split(" ");
    const { path, json = {} } = sampleOf(endpoint);
    return { method, path, json: JSON.stringify(json) };
  });
  const body = JSON.stringify({ origin: api.url, calls });
  const visits = [
    { to: url, headers: { cookie: page.cookie } },
    {
      to: `http://127.0.0.1:${platform.local.ingressPort}`,
      headers: { cookie: page.cookie, host: `${NAME}.localhost` },
    },
  ];
  for (const { to, headers } of visits) {
    const { status, text } = await send(to, { method: "POST", path: "/", headers, body });
    expect(status, text).toBe(200);
    const { cookie, statuses } = JSON.parse(text);
    expect(cookie).toBe(page.cookie);
    expect(statuses).toHaveLength(2 * calls.length);
    expect(new Set(statuses)).toEqual(new Set([401]));
  }
  expect((await page.call("GET", "/v1/console/sessions")).json.sessions).toHaveLength(1);
});
