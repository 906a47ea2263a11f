/**
 * Several control plane replicas on one AWS account: the race tests of every cloud, and replicas that stall
 * while they move traffic.
 */
import { afterEach, beforeEach, expect, test } from "vitest";
import { raceTests } from "../../../clouds/rollouts/races.ts";
import { expectOk } from "../../../contracts/support.ts";
import { accountOf, nameOf } from "../../../support/http/brands.ts";
import { ecsRollouts, type FakeEcsPlatform, openFakeEcs } from "../../../support/providers/ecs-platform.ts";

let run: FakeEcsPlatform;
beforeEach(async () => {
  run = await openFakeEcs();
});
afterEach(() => run.close());

raceTests(() => run, ecsRollouts);

const released = async () => {
  const app = { name: nameOf("app"), owner: accountOf("acme") };
  return expectOk((run.platform.releases as NonNullable<typeof run.platform.releases>)(app));
};

/** Checks that only the resources of serving revisions are left in AWS. */
const onlyWhatServes = (...names: readonly string[]): void => ecsRollouts.onlyServing(run, names);

test("a write that conflicts with an earlier one is retried, and keeps the earlier change", async () => {
  await run.rollOut(run.template("app"), "absent");
  const expected = await run.expectedOf("app");
  const app = { name: nameOf("app"), owner: accountOf("acme") };
  const client = await run.clients("s3");
  const send = client.send.bind(client) as (...args: unknown[]) => Promise<unknown>;
  let conflicts = 0;
  let isNoting = false;
  const meeting = async (...args: unknown[]) => {
    const { constructor: command, input } = args[0] as { constructor: { name: string }; input: { Key?: string } };
    if (command.name === "PutObjectCommand" && input.Key === "services/app.json" && conflicts < 2 && !isNoting) {
      conflicts += 1;
      isNoting = true;
      const outcome = { deployId: `d${conflicts}`, status: "DONE", reason: null, finishedAt: null } as const;
      (await run.replica().noteDeploy(app, outcome))._unsafeUnwrap();
      isNoting = false;
    }
    return send(...args);
  };
  Object.assign(client, { send: meeting });
  const end = await run.endOf(run.template("app", "acme", { timeout: 44 }), expected);
  expect(end?.kind).toBe("ready");
  expect(conflicts).toBe(2);
  expect(await run.serviceOf("app")).toMatchObject({
    lastDeploy: { deployId: "d2" },
    serving: [{ template: { timeout: 44 } }],
  });
});

/** Simulates a replica that hangs at one of its calls, before or after it. */
const dyingAt = (
  client: { send: (...args: never[]) => unknown },
  command: string,
  when: "before" | "after",
  isMeant: (input: Record<string, unknown>) => boolean = () => true,
) => {
  const send = client.send.bind(client) as (...args: unknown[]) => Promise<unknown>;
  const resume = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  let isArmed = true;
  const dying = async (...args: unknown[]) => {
    const [sent] = args as [{ readonly input: Record<string, unknown> }];
    const isIt = isArmed && sent.constructor.name === command && isMeant(sent.input);
    if (!isIt) return send(...args);
    isArmed = false;
    if (when === "after") await send(...args);
    reached.resolve();
    await resume.promise;
    return send(...args);
  };
  Object.assign(client, { send: dying });
  return { reached: reached.promise, resume: resume.resolve };
};

test.each(["before", "after"] as const)(
  "takes over from a replica that stalls %s it moves traffic, and ignores it when it resumes",
  async (when) => {
    const first = (await run.rollOut(run.template("app"), "absent")).at(-1);
    const client = await run.clients("balancer");
    const death = dyingAt(client as never, "ModifyRuleCommand", when);
    const dead = run.rollOut(run.template("app", "acme", { timeout: 31 }), await run.expectedOf("app"), {
      by: run.replica(),
    });
    await death.reached;
    expect((await run.serviceOf("app")).rollingOut?.timeout).toBe(31);
    await run.clock.sleep(10 * 60_000);
    const limbo = await run.serviceOf("app");
    expect(limbo.rollingOut).toBeNull();
    expect(limbo.serving).toHaveLength(1);
    expect(limbo.serving[0]?.id).toBe(run.routed("app"));
    expect(limbo.serving[0]?.id === (first?.kind === "ready" ? first.revision : "")).toBe(when === "before");
    expect((await run.platform.list(accountOf("acme")))._unsafeUnwrap()).toEqual([limbo]);
    const next = await run.rollOut(run.template("app", "acme", { timeout: 32 }), await run.expectedOf("app"));
    expect(next.at(-1)?.kind).toBe("ready");
    death.resume();
    expect((await dead).at(-1)).toMatchObject({ kind: "failed", failure: { reason: "superseded" } });
    const after = await run.serviceOf("app");
    expect(after).toMatchObject({ rollingOut: null, serving: [{ template: { timeout: 32 } }] });
    expect(run.routed("app")).toBe(after.serving[0]?.id);
    onlyWhatServes("app");
  },
);

/** A replica that died long ago, before it moved traffic. */
const longDead = async () => {
  const first = (await run.rollOut(run.template("app"), "absent")).at(-1);
  const death = dyingAt((await run.clients("balancer")) as never, "ModifyRuleCommand", "before");
  const template = run.template("app", "acme", { timeout: 31 });
  const dead = run.rollOut(template, await run.expectedOf("app"), { by: run.replica() });
  await death.reached;
  await run.clock.sleep(10 * 60_000);
  return { first: first?.kind === "ready" ? first.revision : "", death, dead };
};

test("a stalled writer that resumes during another deploy moves no traffic", async () => {
  const { first, death, dead } = await longDead();
  let meanwhile: string | undefined;
  const mayServe = async () => {
    death.resume();
    expect((await dead).at(-1)).toMatchObject({ kind: "failed", failure: { reason: "superseded" } });
    meanwhile = run.routed("app");
    return undefined;
  };
  const next = await run.rollOut(run.template("app"), await run.expectedOf("app"), { mayServe });
  expect(next.at(-1)?.kind).toBe("ready");
  expect(meanwhile).toBe(first);
  onlyWhatServes("app");
});

test("reports the serving revision, even while the dead writer's target group counts as referenced", async () => {
  const { first } = await longDead();
  run.balancer.settings.deletionsInUse = 3;
  let shown: string | undefined;
  const mayServe = async () => {
    shown = (await run.serviceOf("app")).serving[0]?.id;
    return undefined;
  };
  const next = await run.rollOut(run.template("app"), await run.expectedOf("app"), { mayServe });
  expect(next.at(-1)?.kind).toBe("ready");
  expect(shown).toBe(first);
});

test("a stalled writer that resumes before its target group is deleted moves traffic, and its revision is reported", async () => {
  const { first, death, dead } = await longDead();
  const client = await run.clients("balancer");
  const send = client.send.bind(client) as (...args: unknown[]) => Promise<unknown>;
  const late = async (...args: unknown[]) => {
    if ((args[0] as object).constructor.name === "DeleteTargetGroupCommand" && run.routed("app") === first) {
      death.resume();
      while (run.routed("app") === first) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return send(...args);
  };
  Object.assign(client, { send: late });
  let shown: string | undefined;
  const mayServe = async () => {
    await dead;
    shown = (await run.serviceOf("app")).serving[0]?.id;
    expect(shown).toBe(run.routed("app"));
    expect((await released())[0]?.revision).toBe(shown);
    return undefined;
  };
  const next = await run.rollOut(run.template("app"), await run.expectedOf("app"), { mayServe });
  expect(next.at(-1)?.kind).toBe("ready");
  expect(shown).not.toBe(first);
  expect(run.routed("app")).toBe((await run.serviceOf("app")).serving[0]?.id);
  expect((await released()).map(({ release }) => release)).toEqual([3, 2, 1]);
});

test("an interrupted removal ends the deploy too, and the next removal completes it", async () => {
  await run.rollOut(run.template("app"), "absent");
  const etag = await run.expectedOf("app");
  let expected = etag;
  const deleting = async () => {
    expected = await run.expectedOf("app");
    run.ecs.faults.inject({ method: "DeleteService", nth: 1, kind: "permission_denied" });
    const removed = await run.replica().remove(nameOf("app"), expected);
    expect(removed._unsafeUnwrapErr().kind).toBe("unavailable");
    return undefined;
  };
  const template = run.template("app", "acme", { timeout: 66 });
  const end = (await run.rollOut(template, etag, { mayServe: deleting })).at(-1);
  expect(end).toMatchObject({ kind: "failed", failure: { reason: "deleted" } });
  expect(await run.serviceOf("app")).toMatchObject({ rollingOut: null, serving: [] });
  (await run.platform.remove(nameOf("app"), expected))._unsafeUnwrap();
  expect((await run.platform.find(nameOf("app")))._unsafeUnwrap().kind).toBe("reserved");
  onlyWhatServes();
});

test("a removal during a takeover ends the deploy and is not lost", async () => {
  const { first, death, dead } = await longDead();
  const client = await run.clients("balancer");
  const send = client.send.bind(client) as (...args: unknown[]) => Promise<unknown>;
  let closing: ReturnType<typeof dyingAt> | undefined;
  const removals: ReturnType<typeof run.platform.remove>[] = [];
  const late = async (...args: unknown[]) => {
    if ((args[0] as object).constructor.name === "DeleteTargetGroupCommand" && closing === undefined) {
      closing = dyingAt(client as never, "DeleteRuleCommand", "before");
      death.resume();
      while (run.routed("app") === first) await new Promise((resolve) => setTimeout(resolve, 5));
      removals.push(run.replica().remove(nameOf("app"), await run.expectedOf("app")));
      await closing.reached;
    }
    return send(...args);
  };
  Object.assign(client, { send: late });
  const next = await run.rollOut(run.template("app"), await run.expectedOf("app"));
  expect(next.at(-1)).toMatchObject({ kind: "failed", failure: { reason: "deleted" } });
  closing?.resume();
  expect((await removals[0])?.isOk()).toBe(true);
  expect((await dead).at(-1)?.kind).toBe("failed");
  expect((await run.platform.find(nameOf("app")))._unsafeUnwrap().kind).toBe("reserved");
  onlyWhatServes();
});

test("waiting for an old revision's last requests does not move traffic away from a newer one", async () => {
  await run.rollOut(run.template("app"), "absent");
  const [old] = run.balancer.groups();
  const isOld = ({ TargetGroupArn }: Record<string, unknown>) => TargetGroupArn === old?.TargetGroupArn;
  const waiting = dyingAt((await run.clients("balancer")) as never, "DescribeTargetHealthCommand", "before", isOld);
  const second = run.rollOut(run.template("app"), await run.expectedOf("app"), { by: run.replica() });
  await waiting.reached;
  const ending = dyingAt((await run.clients("ecs")) as never, "DeleteServiceCommand", "before");
  const third = run.rollOut(run.template("app", "acme", { timeout: 33 }), await run.expectedOf("app"));
  await ending.reached;
  const newest = (await run.serviceOf("app")).serving[0];
  expect(newest?.template.timeout).toBe(33);
  waiting.resume();
  expect((await second).at(-1)?.kind).toBe("ready");
  expect(run.routed("app")).toBe(newest?.id);
  ending.resume();
  expect((await third).at(-1)?.kind).toBe("ready");
  expect(run.routed("app")).toBe(newest?.id);
  onlyWhatServes("app");
});
