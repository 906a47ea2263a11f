/** `/health` always succeeds. `/ready` reports a cached check of the backing services. Neither needs a credential. */
import { afterEach, expect, test, vi } from "vitest";
import { createMemoryProvider } from "../../../../adapters/memory/index.ts";
import { unavailable } from "../../../../core/errors.ts";
import { errAsync, okAsync } from "../../../../core/result.ts";
import { serveApi, serveMemory } from "../../../support/http/api.ts";
import { detailOf } from "../../../support/http/refusals.ts";

afterEach(() => void vi.restoreAllMocks());

/** An API on a provider whose check succeeds unless `down`, and counts its calls. */
const serveChecked = async () => {
  const { ports } = createMemoryProvider();
  const state = { down: false, asked: 0 };
  const check = () => {
    state.asked++;
    return state.down ? errAsync(unavailable("database of account beta at /srv is down", 3)) : okAsync(undefined);
  };
  return { api: await serveApi({ ...ports, provider: { ...ports.provider, check } }), state };
};

const get = (api: Awaited<ReturnType<typeof serveApi>>, path: string) => api.call("GET", path, { key: null });

/** Advances the clock of the cached check. */
const later = (millis: number): void => {
  const at = performance.now() + millis;
  vi.spyOn(performance, "now").mockImplementation(() => at);
};

test("reports that the process is up, whatever the state of backing services", async () => {
  const { api, state } = await serveChecked();
  await using _api = api;
  state.down = true;
  expect((await get(api, "/health")).json).toEqual({ status: "ok" });
  expect(state.asked).toBe(0);
});

test("reports ready while the backing services respond, and checks again after ten seconds", async () => {
  const { api, state } = await serveChecked();
  await using _api = api;
  for (let time = 0; time < 5; time++) expect((await get(api, "/ready")).json).toEqual({ status: "ready" });
  expect(state.asked).toBe(1);
  state.down = true;
  later(9000);
  expect((await get(api, "/ready")).status).toBe(200);
  later(10_001);
  const answer = await get(api, "/ready");
  expect(detailOf(answer, 503)).toBe("A backing service does not respond.");
  expect(answer.headers.get("retry-after")).toBe("10");
  expect(state.asked).toBe(2);
  state.down = false;
  expect((await get(api, "/ready")).status).toBe(503);
  later(30_000);
  expect((await get(api, "/ready")).status).toBe(200);
});

test("ignores a wrong credential", async () => {
  await using api = await serveMemory();
  for (const path of ["/health", "/ready"])
    expect((await api.call("GET", path, { key: "psk_wrong" })).status).toBe(200);
});
