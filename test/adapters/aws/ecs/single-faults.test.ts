/**
 * A fault at any single call of a rollout or a removal: it ends with a cause, what served before serves still, and a
 * repeat of the same command completes it. Time is virtual, so that no repeat sleeps.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RolloutEvent } from "../../../../core/ports/service-platform.ts";
import type { FaultKind } from "../../../fakes/faults.ts";
import { accountOf, nameOf } from "../../../support/brands.ts";
import { openPretendedEcs, type PretendedEcs } from "../../../support/ecs-platform.ts";
import { sampled } from "../../../support/sampled.ts";

let run: PretendedEcs;
beforeAll(async () => {
  run = await openPretendedEcs({ rules: 10_000 });
});
afterAll(() => run.close());

const kinds: readonly FaultKind[] = ["unavailable", "permission_denied", "resource_exhausted", "reply_lost"];
const passing: readonly FaultKind[] = ["unavailable", "resource_exhausted", "reply_lost"];
const fakes = ["state", "ecs", "balancer", "scaling"] as const;

let counter = 0;
const fresh = () => {
  counter += 1;
  return { name: `app-${counter}`, owner: `account-${counter}` };
};

const clear = () => {
  for (const fake of fakes) run[fake].faults.clear();
};

const mounts = [{ path: "/data", volume: "data", bucket: "vol-data", readOnly: false }] as never;
const deploy = async (
  { name, owner }: ReturnType<typeof fresh>,
  timeout: number,
): Promise<RolloutEvent | undefined> => {
  const state = (await run.platform.find(nameOf(name)))._unsafeUnwrap();
  const expected =
    state.kind === "held" ? { etag: state.service.etag, owner: state.service.owner } : ("absent" as const);
  return (await run.rollOut(run.template(name, owner, { timeout, mounts }), expected)).at(-1);
};

/** Every call that each fake sees while something is done without a fault. */
const callsOf = async (act: () => Promise<unknown>) => {
  clear();
  await act();
  return fakes.flatMap((fake) => run[fake].faults.log.map((method, index) => ({ fake, nth: index + 1, method })));
};

const nowServing = async (name: string, what: string): Promise<string | undefined> => {
  const state = (await run.platform.find(nameOf(name)))._unsafeUnwrap();
  const shown = state.kind === "held" ? state.service.serving[0]?.id : undefined;
  // What is shown to serve is what does.
  expect(run.routed(name), what).toBe(shown);
  if (state.kind === "held") expect(state.service.rollingOut, what).toBeNull();
  return shown;
};

/** What serves is all that is left at Amazon, once a deploy has gone well. */
const nothingElse = (name: string, what: string): void => {
  const serving = run.routed(name);
  const own = (one: string | undefined) => one?.startsWith(`${name}-`) === true;
  expect(
    run.ecs
      .services()
      .map(({ serviceName }) => serviceName)
      .filter(own),
    what,
  ).toEqual([serving]);
  const tags = (list: readonly { Key: string; Value: string }[]) =>
    list?.find(({ Key }) => Key === "portside-service")?.Value;
  expect(
    run.balancer.groups().filter(({ Tags }) => tags(Tags) === name),
    what,
  ).toHaveLength(1);
  expect(
    run.balancer.rules().filter(({ Tags }) => tags(Tags) === name),
    what,
  ).toHaveLength(1);
  expect(run.ecs.definitions().filter(({ family }) => family.includes(`-${name}-`)).length, what).toBeGreaterThan(0);
};

const judge = (end: RolloutEvent | undefined, kind: FaultKind, what: string): void => {
  if (end?.kind === "ready") return;
  expect(passing, `${what}: a fault that passes ended with ${JSON.stringify(end)}`).not.toContain(kind);
  expect(end, what).toMatchObject({ kind: "failed", failure: { reason: "permission" } });
};

test("a first deploy", { timeout: 600_000 }, async () => {
  const calls = await callsOf(() => deploy(fresh(), 10));
  expect(calls.length).toBeGreaterThan(20);
  // The first is `find`'s, of the deploy itself.
  for (const { fake, nth, method } of sampled(calls.slice(1), 9))
    for (const kind of kinds) {
      const app = fresh();
      const template = run.template(app.name, app.owner, { timeout: 10, mounts });
      clear();
      run[fake].faults.inject({ nth: fake === "state" ? nth - 1 : nth, kind });
      const end = (await run.rollOut(template, "absent")).at(-1);
      const what = `${kind} at ${fake} ${nth} (${method})`;
      clear();
      judge(end, kind, what);
      const shown = await nowServing(app.name, what);
      expect(shown, what).toBe(end?.kind === "ready" ? end.revision : undefined);
      expect((await deploy(app, 11))?.kind, `${what}, then again`).toBe("ready");
      nothingElse(app.name, what);
    }
});

test("a later deploy", { timeout: 600_000 }, async () => {
  const known = fresh();
  await deploy(known, 10);
  const calls = await callsOf(() => deploy(known, 11));
  for (const { fake, nth, method } of sampled(calls.slice(1), 9))
    for (const kind of kinds) {
      const app = fresh();
      const before = await deploy(app, 10);
      if (before?.kind !== "ready") throw new Error("the first deploy failed");
      const template = run.template(app.name, app.owner, { timeout: 11, mounts });
      const expected = await run.expectedOf(app.name);
      clear();
      run[fake].faults.inject({ nth: fake === "state" ? nth - 1 : nth, kind });
      const end = (await run.rollOut(template, expected)).at(-1);
      const what = `${kind} at ${fake} ${nth} (${method})`;
      clear();
      judge(end, kind, what);
      const shown = await nowServing(app.name, what);
      expect(shown, what).toBe(end?.kind === "ready" ? end.revision : before.revision);
      expect((await deploy(app, 12))?.kind, `${what}, then again`).toBe("ready");
      nothingElse(app.name, what);
    }
});

test("a removal", { timeout: 600_000 }, async () => {
  const removal = async (app: ReturnType<typeof fresh>) => {
    const expected = await run.expectedOf(app.name);
    return () => run.platform.remove(nameOf(app.name), expected);
  };
  const known = fresh();
  await deploy(known, 10);
  const remove = await removal(known);
  const calls = await callsOf(async () => (await remove())._unsafeUnwrap());
  expect(calls.length).toBeGreaterThan(10);
  for (const { fake, nth, method } of sampled(calls, 9))
    for (const kind of kinds) {
      const app = fresh();
      await deploy(app, 10);
      const act = await removal(app);
      clear();
      run[fake].faults.inject({ nth, kind });
      const removed = await act();
      const what = `${kind} at ${fake} ${nth} (${method})`;
      clear();
      if (removed.isErr()) {
        expect(passing, what).not.toContain(kind);
        expect(removed.error.kind, what).toBe("unavailable");
      }
      const again = await act();
      if (again.isErr()) expect(again.error.kind, what).toBe("not_found");
      const state = (await run.platform.find(nameOf(app.name)))._unsafeUnwrap();
      expect(state, what).toEqual({ kind: "reserved", owner: app.owner });
      expect(
        run.ecs.services().some(({ serviceName }) => serviceName.startsWith(`${app.name}-`)),
        what,
      ).toBe(false);
      expect(run.routed(app.name), what).toBeUndefined();
    }
});

test("a note", async () => {
  const app = fresh();
  await deploy(app, 10);
  const outcome = { deployId: "d", status: "DONE", reason: null, finishedAt: "2026-01-01T00:00:00+00:00" } as const;
  for (const kind of passing)
    for (const nth of [1, 2]) {
      clear();
      run.state.faults.inject({ nth, kind });
      const noted = { ...outcome, deployId: `${kind}-${nth}` };
      (await run.platform.noteDeploy({ name: nameOf(app.name), owner: accountOf(app.owner) }, noted))._unsafeUnwrap();
      expect((await run.serviceOf(app.name)).lastDeploy).toEqual(noted);
    }
});

test("an outage that lasts surfaces as one, and a refusal is the operator's to read", async () => {
  const app = fresh();
  await deploy(app, 10);
  const expected = await run.expectedOf(app.name);
  for (const [kind, reason] of [
    ["unavailable", "provider_unavailable"],
    ["resource_exhausted", "quota_exceeded"],
    ["permission_denied", "permission"],
  ] as const) {
    clear();
    for (let nth = 1; nth <= 500; nth++) run.state.faults.inject({ nth, kind });
    const end = (await run.rollOut(run.template(app.name, app.owner, { timeout: 20 }), expected)).at(-1);
    expect(end).toMatchObject({ kind: "failed", failure: { reason } });
    const found = await run.platform.find(nameOf(app.name));
    expect(found._unsafeUnwrapErr()).toMatchObject({ kind: "unavailable" });
    expect(found._unsafeUnwrapErr().retryAfterSeconds).toBeGreaterThan(0);
  }
  clear();
  expect(run.said.some((line) => line.includes("refuses a call of this platform"))).toBe(true);
  expect(await nowServing(app.name, "after the outage")).toBeDefined();
});
