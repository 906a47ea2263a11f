/** How a cloud's rollouts end: success, failure with a cause, abort, or death of the control plane. */
import { expect, test } from "vitest";
import { cloudDeadlines } from "../../../core/domain/accounts/limits.ts";
import type { DeployOutcome } from "../../../core/domain/deploy/events.ts";
import type { Expected } from "../../../core/domain/deploy/plan.ts";
import type { DeployReason } from "../../../core/domain/deploy/reason.ts";
import { plusMillis } from "../../../core/domain/wire/instant.ts";
import type { RolloutEvent } from "../../../core/ports/service-platform.ts";
import { testOrigin } from "../../contracts/support.ts";
import { accountOf, nameOf } from "../../support/http/brands.ts";
import type { FakePlatform, RolloutCloud } from "./steps.ts";

export interface RolloutEnds<W> {
  /** The failure reason of a revision that never responds. */
  readonly unheard: DeployReason;
  /** The expected log tail of a service that prints `leaving` and exits. */
  readonly logTail: unknown;
  /** Deletes the bucket of `mounting`. */
  takeBucket(world: W): void;
  /** Prepares a deploy of `app` that calls `then` just as traffic moves; returns the deploy's `expected`. */
  whenTrafficMoves(world: W, then: () => void): Promise<Expected>;
  /** Asserts that services that never served left nothing behind. */
  nothingLeft(world: W): void;
}

/** @param now returns the running test's platform */
export const rolloutEndTests = <W extends FakePlatform>(
  now: () => W,
  { mounting, onlyServing }: RolloutCloud<W>,
  { unheard, logTail, takeBucket, whenTrafficMoves, nothingLeft }: RolloutEnds<W>,
): void => {
  test("a missing bucket of a volume fails the rollout before it creates anything", async () => {
    const run = now();
    takeBucket(run);
    expect(await run.endOf(run.template("app", "acme", mounting), "absent")).toMatchObject({
      failure: { reason: "volume_unavailable" },
    });
    expect((await run.stateOf("app")).kind).toBe("free");
  });

  test("distinguishes a container that exited from a silent one, with its last lines", async () => {
    const run = now();
    const crash = { image: run.image("exits:7") };
    expect(await run.endOf(run.template("app", "acme", crash), "absent")).toMatchObject({
      failure: { reason: "crashed", exitCode: 7, logTail },
    });
    const ended = { image: run.image("exits:0") };
    expect(await run.endOf(run.template("app", "acme", ended), await run.expectedOf("app"))).toMatchObject({
      failure: { reason: "exited", exitCode: 0 },
    });
    const silent = { image: run.image("silent") };
    expect(await run.endOf(run.template("app", "acme", silent), await run.expectedOf("app"))).toMatchObject({
      failure: { reason: "did_not_listen" },
    });
    nothingLeft(run);
  });

  test("a bug of the platform fails the rollout, and only the operator sees the bug", async () => {
    const run = now();
    const mayServe = () => Promise.reject(new Error("a bug"));
    const end = await run.endOf(run.template("app"), "absent", { mayServe });
    expect(end).toEqual({
      kind: "failed",
      failure: {
        reason: "internal",
        message: "The platform could not roll out the revision. The operator can find the reason in the server's log.",
      },
    });
    expect(run.logged.some((line) => line.includes("a rollout failed because of an internal error"))).toBe(true);
  });

  test("a first revision receives no requests before it may serve", async () => {
    const run = now();
    let early: string | undefined = "not asked";
    const mayServe = async () => {
      early = run.routed("app");
      return undefined;
    };
    await run.rollOut(run.template("app"), "absent", { mayServe });
    expect(early).toBeUndefined();
    const [serving] = (await run.serviceOf("app")).serving;
    expect(serving).toBeDefined();
    expect(run.routed("app")).toBe(serving?.id);
  });

  test("a rollout whose control plane died times out", async () => {
    const run = now();
    const ready = await run.endOf(run.template("app"), "absent");
    const expected = await run.expectedOf("app");
    // The callback never returns.
    const gone = Promise.withResolvers<never>();
    const asked = Promise.withResolvers<void>();
    const mayServe = () => {
      asked.resolve();
      return gone.promise;
    };
    void run.rollOut(run.template("app", "acme", { timeout: 31 }), expected, { mayServe });
    await asked.promise;
    expect((await run.serviceOf("app")).rollingOut?.timeout).toBe(31);
    await run.clock.sleep(10 * 60_000);
    const after = await run.serviceOf("app");
    expect(after).toMatchObject({ rollingOut: null, serving: [{ id: ready?.kind === "ready" ? ready.revision : "" }] });
    const again = run.endOf(run.template("app", "acme", { timeout: 32 }), { etag: after.etag, owner: after.owner });
    expect((await again)?.kind).toBe("ready");
    // The next rollout also removed the unused resources of the rollout that timed out.
    onlyServing(run, ["app"]);
  });

  test("a deploy note expires when no deploy can run that long", async () => {
    const run = now();
    await run.rollOut(run.template("app"), "absent");
    const running: DeployOutcome = { deployId: "d1", status: "BUILDING", reason: null, finishedAt: null };
    (await run.platform.noteDeploy({ name: nameOf("app"), owner: accountOf("acme") }, running))._unsafeUnwrap();
    expect((await run.serviceOf("app")).lastDeploy).toEqual(running);
    await run.clock.sleep(2 * cloudDeadlines.buildDeadlineMs + cloudDeadlines.rolloutDeadlineMs);
    expect((await run.serviceOf("app")).lastDeploy).toEqual(running);
    await run.clock.sleep(3 * 60 * 60_000);
    expect((await run.serviceOf("app")).lastDeploy).toMatchObject({
      deployId: "d1",
      status: "ERROR",
      reason: "interrupted",
    });
  });

  test("a deploy note becomes DONE within 20 minutes if its revision serves", async () => {
    const run = now();
    const template = run.template("app", "acme", { deployId: "d1" });
    await run.rollOut(template, "absent");
    const running: DeployOutcome = { deployId: "d1", status: "BUILDING", reason: null, finishedAt: null };
    (await run.platform.noteDeploy({ name: nameOf("app"), owner: accountOf("acme") }, running))._unsafeUnwrap();
    expect((await run.serviceOf("app")).lastDeploy).toEqual(running);
    await run.clock.sleep(20 * 60_000);
    expect((await run.serviceOf("app")).lastDeploy).toMatchObject({ deployId: "d1", status: "DONE", reason: null });
    const later: DeployOutcome = { ...running, deployId: "d2" };
    (await run.platform.noteDeploy({ name: nameOf("app"), owner: accountOf("acme") }, later))._unsafeUnwrap();
    expect((await run.serviceOf("app")).lastDeploy).toEqual(later);
  });

  test("a revision that never starts fails at the rollout's deadline, and nothing stays pending", async () => {
    const run = now();
    await run.rollOut(run.template("app"), "absent");
    const hanging = run.template("app", "acme", { image: run.image("hangs") });
    const end = await run.endOf(hanging, await run.expectedOf("app"));
    expect(end).toMatchObject({ kind: "failed", failure: { reason: unheard } });
    expect(await run.serviceOf("app")).toMatchObject({
      rollingOut: null,
      serving: [{ template: { image: run.image() } }],
    });
    // The next rollout does not wait for it.
    expect((await run.endOf(run.template("app"), await run.expectedOf("app")))?.kind).toBe("ready");
  });

  test("an abort ends the start soon", async () => {
    const run = now();
    await run.rollOut(run.template("app"), "absent");
    const abort = new AbortController();
    const hanging = run.template("app", "acme", { image: run.image("hangs") });
    const startedAt = run.clock.now();
    const expected = await run.expectedOf("app");
    const request = { template: hanging, expected, origin: testOrigin, listenDeadlineMs: 60_000 };
    const events: RolloutEvent[] = [];
    for await (const event of run.platform.rollout(request, { signal: abort.signal })) {
      events.push(event);
      abort.abort();
    }
    expect(events.at(-1)).toMatchObject({ kind: "failed", failure: { reason: "interrupted" } });
    expect(run.clock.now()).toBeLessThan(plusMillis(startedAt, 10_000));
    expect((await run.serviceOf("app")).rollingOut).toBeNull();
  });

  test("an abort once traffic moves still ends with ready", async () => {
    const run = now();
    const late = new AbortController();
    const expected = await whenTrafficMoves(run, () => late.abort());
    const end = await run.endOf(run.template("app"), expected, { signal: late.signal });
    expect(late.signal.aborted).toBe(true);
    expect(end?.kind).toBe("ready");
  });
};
