/**
 * Injects a fault at each call of a rollout or a removal. The command ends with a cause, the previous revision still
 * serves, and repeating the command completes it. Time is virtual, so retries do not sleep.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RolloutEvent } from "../../../core/ports/service-platform.ts";
import type { FaultKind } from "../../fakes/faults.ts";
import { accountOf, nameOf } from "../../support/http/brands.ts";
import { MATRIX_MS } from "../../support/vitest/runs.ts";
import { sampled } from "../../support/vitest/sampled.ts";
import type { FakePlatform, RolloutCloud } from "./steps.ts";

const kinds: readonly FaultKind[] = ["unavailable", "permission_denied", "resource_exhausted", "reply_lost"];
const passing: readonly FaultKind[] = ["unavailable", "resource_exhausted", "reply_lost"];
export interface FaultedRollouts<W> {
  /** The fake that `find` calls to learn who holds a name. */
  readonly finder: string;
  /** Lower bounds for the number of calls of a first deploy and of a removal. */
  readonly calls: { readonly deploy: number; readonly removal: number };
  /** Tests only every n-th call. */
  readonly every: number;
  /** Asserts that the cloud has only resources of the service's serving revision, and none of a removed service. */
  nothingElse(world: W, name: string, what: string): void;
}

export const rolloutFaultTests = <W extends FakePlatform>(
  { open, freed, mounting }: RolloutCloud<W>,
  { finder, calls: least, every, nothingElse }: FaultedRollouts<W>,
): void => {
  const options = { timeout: MATRIX_MS };
  let run: W;
  beforeAll(async () => {
    run = await open();
  });
  afterAll(() => run.close());

  let counter = 0;
  const fresh = () => {
    counter += 1;
    return { name: `app-${counter}`, owner: `account-${counter}` };
  };
  type App = ReturnType<typeof fresh>;

  const clear = () => {
    for (const faults of Object.values(run.faultsOf)) faults.clear();
  };

  const templateOf = ({ name, owner }: App, timeout: number) => run.template(name, owner, { timeout, ...mounting });

  const deploy = async (app: App, timeout: number): Promise<RolloutEvent | undefined> => {
    const state = await run.stateOf(app.name);
    const expected =
      state.kind === "held" ? { etag: state.service.etag, owner: state.service.owner } : ("absent" as const);
    return run.endOf(templateOf(app, timeout), expected);
  };

  /** Runs `act` without faults, and returns every call that each fake receives. */
  const callsOf = async (act: () => Promise<unknown>) => {
    clear();
    await act();
    return Object.entries(run.faultsOf).flatMap(([fake, { log }]) =>
      log.map((method, index) => ({ fake, nth: index + 1, method })),
    );
  };

  /** The calls of a deploy without the first one, which `find` makes and not the rollout. */
  const callsOfRollout = async (app: App, timeout: number) => {
    const calls = await callsOf(() => deploy(app, timeout));
    return calls.map((one) => (one.fake === finder ? { ...one, nth: one.nth - 1 } : one)).filter(({ nth }) => nth > 0);
  };

  const inject = (fake: string, nth: number, kind: FaultKind): void => {
    clear();
    run.faultsOf[fake]?.inject({ nth, kind });
  };

  const nowServing = async (name: string, what: string): Promise<string | undefined> => {
    const state = await run.stateOf(name);
    const shown = state.kind === "held" ? state.service.serving[0]?.id : undefined;
    // The reported revision must receive the requests.
    expect(run.routed(name), what).toBe(shown);
    if (state.kind === "held") expect(state.service.rollingOut, what).toBeNull();
    return shown;
  };

  const judge = (end: RolloutEvent | undefined, kind: FaultKind, what: string): void => {
    if (end?.kind === "ready") return;
    expect(passing, `${what}: a transient fault ended with ${JSON.stringify(end)}`).not.toContain(kind);
    expect(end, what).toMatchObject({ kind: "failed", failure: { reason: "permission" } });
  };

  test("a first deploy with a fault succeeds or ends with a cause, and a repeat succeeds", options, async () => {
    const calls = await callsOfRollout(fresh(), 10);
    expect(calls.length).toBeGreaterThan(least.deploy);
    for (const { fake, nth, method } of sampled(calls, every))
      for (const kind of kinds) {
        const app = fresh();
        inject(fake, nth, kind);
        const end = await run.endOf(templateOf(app, 10), "absent");
        const what = `${kind} at ${fake} ${nth} (${method})`;
        clear();
        judge(end, kind, what);
        const shown = await nowServing(app.name, what);
        expect(shown, what).toBe(end?.kind === "ready" ? end.revision : undefined);
        expect((await deploy(app, 11))?.kind, `${what}, then again`).toBe("ready");
        nothingElse(run, app.name, what);
      }
  });

  test(
    "a later deploy with a fault succeeds or keeps the previous revision, and a repeat succeeds",
    options,
    async () => {
      const known = fresh();
      await deploy(known, 10);
      for (const { fake, nth, method } of sampled(await callsOfRollout(known, 11), every))
        for (const kind of kinds) {
          const app = fresh();
          const before = await deploy(app, 10);
          if (before?.kind !== "ready") throw new Error("the first deploy failed");
          const expected = await run.expectedOf(app.name);
          inject(fake, nth, kind);
          const end = await run.endOf(templateOf(app, 11), expected);
          const what = `${kind} at ${fake} ${nth} (${method})`;
          clear();
          judge(end, kind, what);
          const shown = await nowServing(app.name, what);
          expect(shown, what).toBe(end?.kind === "ready" ? end.revision : before.revision);
          expect((await deploy(app, 12))?.kind, `${what}, then again`).toBe("ready");
          nothingElse(run, app.name, what);
        }
    },
  );

  test("a removal with a fault succeeds at the latest when it is repeated", options, async () => {
    const removal = async (app: App) => {
      const expected = await run.expectedOf(app.name);
      return () => run.platform.remove(nameOf(app.name), expected);
    };
    const known = fresh();
    await deploy(known, 10);
    const remove = await removal(known);
    const calls = await callsOf(async () => (await remove())._unsafeUnwrap());
    expect(calls.length).toBeGreaterThan(least.removal);
    for (const { fake, nth, method } of sampled(calls, every))
      for (const kind of kinds) {
        const app = fresh();
        await deploy(app, 10);
        const act = await removal(app);
        inject(fake, nth, kind);
        const removed = await act();
        const what = `${kind} at ${fake} ${nth} (${method})`;
        clear();
        if (removed.isErr()) {
          expect(passing, what).not.toContain(kind);
          expect(removed.error.kind, what).toBe("unavailable");
        }
        const again = await act();
        if (again.isErr()) expect(again.error.kind, what).toBe("not_found");
        const state = freed === "free" ? { kind: freed } : { kind: freed, owner: app.owner };
        expect(await run.stateOf(app.name), what).toEqual(state);
        expect(run.routed(app.name), what).toBeUndefined();
        nothingElse(run, app.name, what);
      }
  });

  test("a note succeeds despite a transient fault", async () => {
    const app = fresh();
    await deploy(app, 10);
    const outcome = { deployId: "d", status: "DONE", reason: null, finishedAt: "2026-01-01T00:00:00+00:00" } as const;
    for (const kind of passing)
      for (const nth of [1, 2]) {
        inject(finder, nth, kind);
        const noted = { ...outcome, deployId: `${kind}-${nth}` };
        (await run.platform.noteDeploy({ name: nameOf(app.name), owner: accountOf(app.owner) }, noted))._unsafeUnwrap();
        expect((await run.serviceOf(app.name)).lastDeploy).toEqual(noted);
      }
  });

  test("a lasting outage is reported as an outage, and a permission error goes to the operator's log", async () => {
    const app = fresh();
    await deploy(app, 10);
    const expected = await run.expectedOf(app.name);
    for (const [kind, reason] of [
      ["unavailable", "provider_unavailable"],
      ["resource_exhausted", "quota_exceeded"],
      ["permission_denied", "permission"],
    ] as const) {
      clear();
      for (let nth = 1; nth <= 500; nth++) run.faultsOf[finder]?.inject({ nth, kind });
      const end = await run.endOf(run.template(app.name, app.owner, { timeout: 20 }), expected);
      expect(end).toMatchObject({ kind: "failed", failure: { reason } });
      const found = await run.platform.find(nameOf(app.name));
      expect(found._unsafeUnwrapErr()).toMatchObject({ kind: "unavailable" });
      expect(found._unsafeUnwrapErr().retryAfterSeconds).toBeGreaterThan(0);
    }
    clear();
    expect(run.logged.some((line) => line.includes("rejected a call; check the platform"))).toBe(true);
    expect(await nowServing(app.name, "after the outage")).toBeDefined();
  });
};
