/** Replicas of the control plane over one account at Amazon: one wins, the other changes nothing; a note never decides. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { createSystemClock } from "../../../../adapters/shared/system.ts";
import type { DeployOutcome } from "../../../../core/domain/deploy-events.ts";
import { accountOf, nameOf } from "../../../support/brands.ts";
import { openPretendedEcs, type PretendedEcs } from "../../../support/ecs-platform.ts";

let run: PretendedEcs;
beforeEach(async () => {
  run = await openPretendedEcs();
});
afterEach(() => run.close());

const noted = (deployId: string): DeployOutcome => ({ deployId, status: "BUILDING", reason: null, finishedAt: null });

/** Of everything at Amazon, only what serves is left. */
const onlyWhatServes = (...names: readonly string[]): void => {
  const serving = names.map((name) => run.routed(name));
  expect(
    run.ecs
      .services()
      .map(({ serviceName }) => serviceName)
      .sort(),
  ).toEqual([...serving].sort());
  expect(run.balancer.groups()).toHaveLength(names.length);
  expect(run.balancer.rules()).toHaveLength(names.length);
  expect(run.ecs.definitions()).toHaveLength(names.length);
  expect(run.scaling.targets.size).toBe(names.length);
};

test("of replicas that create one name at once, one wins; of another account the loser hears name_taken", async () => {
  const names = [0, 1, 2, 3, 4].map((round) => `app-${round}`);
  for (const name of names) {
    const owners = ["acme", "acme", "globex"];
    const ends = await Promise.all(
      owners.map(async (owner, index) => {
        const template = run.template(name, owner, { timeout: 10 + index });
        return (await run.rollOut(template, "absent", { by: run.replica() })).at(-1);
      }),
    );
    const won = ends.findIndex((end) => end?.kind === "ready");
    expect(ends.filter((end) => end?.kind === "ready")).toHaveLength(1);
    const service = await run.serviceOf(name);
    expect(service).toMatchObject({ owner: owners[won], serving: [{ template: { timeout: 10 + won } }] });
    expect(run.routed(name)).toBe(service.serving[0]?.id);
    for (const [index, end] of ends.entries()) {
      const reason = owners[index] === owners[won] ? "superseded" : "name_taken";
      if (index !== won) expect(end).toMatchObject({ kind: "failed", failure: { reason } });
    }
  }
  onlyWhatServes(...names);
});

test("of replicas that update from one version, one wins and the others are superseded", async () => {
  await run.rollOut(run.template("app"), "absent");
  for (let round = 0; round < 5; round++) {
    const expected = await run.expectedOf("app");
    const ends = await Promise.all(
      [1, 2, 3].map(async (index) => {
        const template = run.template("app", "acme", { timeout: round * 10 + index });
        return (await run.rollOut(template, expected, { by: run.replica() })).at(-1);
      }),
    );
    const reasons = ends.map((end) => (end?.kind === "failed" ? end.failure.reason : end?.kind)).sort();
    expect(reasons).toEqual(["ready", "superseded", "superseded"]);
    const won = ends.findIndex((end) => end?.kind === "ready");
    const service = await run.serviceOf("app");
    expect(service.serving[0]?.template.timeout).toBe(round * 10 + won + 1);
    expect(run.routed("app")).toBe(service.serving[0]?.id);
  }
  onlyWhatServes("app");
});

test("deployments that are made at once get rules of their own", async () => {
  const names = Array.from({ length: 12 }, (_, index) => `app-${index}`);
  const ends = await Promise.all(
    names.map(async (name) => (await run.rollOut(run.template(name), "absent", { by: run.replica() })).at(-1)?.kind),
  );
  expect(new Set(ends)).toEqual(new Set(["ready"]));
  onlyWhatServes(...names);
});

test("notes that come in between make no deploy lose, and none is lost", async () => {
  await run.close();
  // Real time: a virtual deadline would be over after a few looks, because every note is a write to be waited for.
  run = await openPretendedEcs({}, createSystemClock());
  await run.rollOut(run.template("app"), "absent");
  const app = { name: nameOf("app"), owner: accountOf("acme") };
  let stop = false;
  let notes = 0;
  const note = async () => {
    while (!stop) {
      (await run.replica().noteDeploy(app, noted(`d${++notes}`)))._unsafeUnwrap();
      await run.clock.sleep(5);
    }
  };
  const noting = note();
  const end = (await run.rollOut(run.template("app", "acme", { timeout: 99 }), await run.expectedOf("app"))).at(-1);
  stop = true;
  await noting;
  expect(end?.kind).toBe("ready");
  expect(notes).toBeGreaterThan(2);
  const service = await run.serviceOf("app");
  expect(service.serving[0]?.template.timeout).toBe(99);
  expect(service.lastDeploy?.deployId).toBe(`d${notes}`);
});

test("a newer deploy that begins meanwhile wins, and the older one leaves it alone", async () => {
  const first = (await run.rollOut(run.template("app"), "absent")).at(-1);
  const newer = async () => {
    const template = run.template("app", "acme", { timeout: 77 });
    const end = await run.rollOut(template, await run.expectedOf("app"), { by: run.replica() });
    expect(end.at(-1)?.kind).toBe("ready");
    return undefined;
  };
  const older = run.template("app", "acme", { timeout: 66 });
  const end = (await run.rollOut(older, await run.expectedOf("app"), { mayServe: newer })).at(-1);
  expect(end).toMatchObject({ kind: "failed", failure: { reason: "superseded" } });
  const service = await run.serviceOf("app");
  expect(service).toMatchObject({ rollingOut: null, serving: [{ template: { timeout: 77 } }] });
  expect(service.serving[0]?.id).not.toBe(first?.kind === "ready" ? first.revision : "");
  expect(run.routed("app")).toBe(service.serving[0]?.id);
  onlyWhatServes("app");
});

test("a delete that comes in between ends the deploy with deleted, and nothing comes back", async () => {
  await run.rollOut(run.template("app"), "absent");
  const deleting = async () => {
    (await run.replica().remove(nameOf("app"), await run.expectedOf("app")))._unsafeUnwrap();
    return undefined;
  };
  const template = run.template("app", "acme", { timeout: 66 });
  const end = (await run.rollOut(template, await run.expectedOf("app"), { mayServe: deleting })).at(-1);
  expect(end).toMatchObject({ kind: "failed", failure: { reason: "deleted" } });
  expect((await run.platform.find(nameOf("app")))._unsafeUnwrap().kind).toBe("reserved");
  onlyWhatServes();
});

/** A replica stops for ever at one of its calls, before the call or after it. */
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
  "a replica that dies %s it moves traffic is found by the rule, and when it comes back it changes nothing",
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

/** A replica that died before it moved traffic, long ago. */
const longDead = async () => {
  const first = (await run.rollOut(run.template("app"), "absent")).at(-1);
  const death = dyingAt((await run.clients("balancer")) as never, "ModifyRuleCommand", "before");
  const template = run.template("app", "acme", { timeout: 31 });
  const dead = run.rollOut(template, await run.expectedOf("app"), { by: run.replica() });
  await death.reached;
  await run.clock.sleep(10 * 60_000);
  return { first: first?.kind === "ready" ? first.revision : "", death, dead };
};

test("one that comes back while another deploys moves no traffic: what served serves still", async () => {
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

test("what serves is shown to serve, also while the dead one's target group counts as named", async () => {
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

test("one that comes back before its target group could be deleted has moved traffic, and is shown to serve", async () => {
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
    return undefined;
  };
  const next = await run.rollOut(run.template("app"), await run.expectedOf("app"), { mayServe });
  expect(next.at(-1)?.kind).toBe("ready");
  expect(shown).not.toBe(first);
  expect(run.routed("app")).toBe((await run.serviceOf("app")).serving[0]?.id);
});

test("a delete that does not come to its end ends the deploy all the same, and the same command completes it", async () => {
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

test("a delete that begins while another takes over from a dead one ends the deploy, and is not forgotten", async () => {
  const { first, death, dead } = await longDead();
  const client = await run.clients("balancer");
  const send = client.send.bind(client) as (...args: unknown[]) => Promise<unknown>;
  let closing: ReturnType<typeof dyingAt> | undefined;
  let removed: ReturnType<typeof run.platform.remove> | undefined;
  const late = async (...args: unknown[]) => {
    if ((args[0] as object).constructor.name === "DeleteTargetGroupCommand" && closing === undefined) {
      closing = dyingAt(client as never, "DeleteRuleCommand", "before");
      death.resume();
      while (run.routed("app") === first) await new Promise((resolve) => setTimeout(resolve, 5));
      removed = run.replica().remove(nameOf("app"), await run.expectedOf("app"));
      await closing.reached;
    }
    return send(...args);
  };
  Object.assign(client, { send: late });
  const next = await run.rollOut(run.template("app"), await run.expectedOf("app"));
  expect(next.at(-1)).toMatchObject({ kind: "failed", failure: { reason: "deleted" } });
  closing?.resume();
  expect((await removed)?.isOk()).toBe(true);
  expect((await dead).at(-1)?.kind).toBe("failed");
  expect((await run.platform.find(nameOf("app")))._unsafeUnwrap().kind).toBe("reserved");
  onlyWhatServes();
});

test("what still waits for an old revision's last requests takes no traffic from a newer one", async () => {
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
