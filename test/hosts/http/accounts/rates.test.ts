/** The request rate of an account: requests over it fail with 429 and Retry-After. Other accounts are not affected. */
import { expect, test } from "vitest";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { serveMemory } from "../../../support/http/api.ts";
import { callEndpoint, privateEndpointNames } from "../../../support/http/endpoint-calls.ts";
import { detailOf } from "../../../support/http/refusals.ts";

const serveSlow = (clock = createManualClock()) => serveMemory({ clock }, { accountLimits: { requestsPerMinute: 3 } });

test("returns 429 with Retry-After for a request over the limit", async () => {
  const clock = createManualClock();
  await using api = await serveSlow(clock);
  for (let time = 0; time < 3; time++) expect((await api.call("GET", "/v1/capabilities")).status).toBe(200);
  const answer = await api.call("GET", "/v1/capabilities");
  expect(detailOf(answer, 429)).toContain("3 requests per minute");
  expect(answer.headers.get("retry-after")).toBe("20");
  await clock.advance(20_000);
  expect((await api.call("GET", "/v1/capabilities")).status).toBe(200);
  detailOf(await api.call("GET", "/v1/capabilities"), 429);
});

test("counts each account separately, with all its keys", async () => {
  await using api = await serveSlow();
  const keys = [await api.key("acme"), await api.key("acme")];
  for (let time = 0; time < 3; time++) await api.call("GET", "/v1/capabilities", { key: keys[0] as string });
  detailOf(await api.call("GET", "/v1/capabilities", { key: keys[1] as string }), 429);
  expect((await api.call("GET", "/v1/capabilities", { account: "beta" })).status).toBe(200);
});

test("does not count requests without a valid credential", async () => {
  await using api = await serveSlow();
  for (let time = 0; time < 10; time++) await api.call("GET", "/v1/capabilities", { key: "psk_wrong" });
  expect((await api.call("GET", "/v1/capabilities")).status).toBe(200);
});

test.each(privateEndpointNames)("counts %s", async (endpoint) => {
  await using api = await serveMemory({ clock: createManualClock() }, { accountLimits: { requestsPerMinute: 1 } });
  await callEndpoint(api, endpoint);
  const answer = await callEndpoint(api, endpoint);
  detailOf(answer, 429);
  expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
});

test("returns the limits, which are settings", async () => {
  await using usual = await serveMemory();
  expect((await usual.call("GET", "/v1/capabilities")).json.limits).toEqual({
    deployments: 50,
    instances: 200,
    volumes: 100,
    domains: 50,
    builds_at_once: 2,
    uploads_at_once: 2,
    sql_at_once: 1,
    requests_per_minute: 3000,
  });
  await using slow = await serveSlow();
  expect((await slow.call("GET", "/v1/capabilities")).json.limits.requests_per_minute).toBe(3);
});
