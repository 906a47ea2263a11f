/**
 * A fault at any single call of a deploy, a delete or a volume's delete, on the provider as a whole: it ends in a last
 * record or an error with a cause, or in success; what served before serves; and the same command again completes it.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createGcpProvider } from "../../../adapters/gcp/index.ts";
import { createMemoryProvider } from "../../../adapters/memory/index.ts";
import { randomIds } from "../../../adapters/shared/system.ts";
import { type ControlPlane, createControlPlane } from "../../../core/control-plane.ts";
import type { DeployEvent } from "../../../core/domain/deploy-events.ts";
import { chunked, expectOk } from "../../contracts/support.ts";
import type { FaultKind } from "../../fakes/faults.ts";
import { startFakeCloud } from "../../fakes/gcp/cloud.ts";
import { nodeSource } from "../../support/archives.ts";
import { createFastClock } from "../../support/fast-clock.ts";
import { folderWith } from "../../support/folders.ts";
import { principalOf } from "../../support/local-platform.ts";
import { sampled } from "../../support/sampled.ts";
import { silentLogger } from "../../support/silent-logger.ts";

type Cloud = Awaited<ReturnType<typeof startFakeCloud>>;
type Fake = keyof Cloud["faults"];

const folder = folderWith();
let cloud: Cloud;
let controlPlane: ControlPlane;
let closeProvider: () => Promise<void>;
beforeAll(async () => {
  cloud = await startFakeCloud("pretended");
  const ambient = { clock: createFastClock(100), ids: randomIds, logger: silentLogger };
  const { ports } = createMemoryProvider(ambient);
  const { provider, close } = await createGcpProvider(cloud.config(folder.path), ambient);
  closeProvider = close;
  controlPlane = createControlPlane({ ...ports, provider }, { accountLimits: { requestsPerMinute: 1_000_000 } });
});
afterAll(async () => {
  await controlPlane.close();
  await closeProvider();
  await cloud.close();
  folder[Symbol.dispose]();
});

let sources = 0;

/** The records; none where the deploy was refused before its stream, as an outage. */
const deploy = async (name: string, fields: object): Promise<DeployEvent[]> => {
  const principal = principalOf(`account-of-${name}`);
  const bytes = nodeSource(`source ${++sources}`);
  const archive = await expectOk(controlPlane.receiveSource(principal, chunked(bytes)));
  const run = await controlPlane.deploy(principal, { fields: { function_name: name, ...fields }, archive });
  if (run.isErr()) {
    expect(run.error.kind).toBe("unavailable");
    return [];
  }
  return Array.fromAsync(run.value.follow());
};

const first = { timeout: 10, volumes: {} };
/** Another declaration, with a volume that is not there yet and a schedule. */
const second = (name: string) => ({ timeout: 11, volumes: { "/data": `${name}-data` }, schedule: "0 3 * * *" });

const shown = async (name: string) => {
  const listed = await expectOk(controlPlane.listDeployments(principalOf(`account-of-${name}`)));
  return listed.find((one) => one.name === name);
};

const volumesOf = async (name: string) =>
  (await expectOk(controlPlane.listVolumes(principalOf(`account-of-${name}`)))).map((one) => one.name);

const clear = () => {
  for (const faults of Object.values(cloud.faults)) faults.clear();
};

interface Call {
  readonly fake: Fake;
  readonly nth: number;
  readonly method: string;
}

/** Every call that some work makes. */
const callsOf = async (work: () => Promise<unknown>): Promise<Call[]> => {
  clear();
  await work();
  const calls = (Object.keys(cloud.faults) as Fake[]).flatMap((fake) =>
    cloud.faults[fake].log.map((method, index) => ({ fake, nth: index + 1, method })),
  );
  clear();
  return calls;
};

const kinds: readonly FaultKind[] = ["permission_denied", "reply_lost", "unavailable"];
let round = 0;

const eachFault = async <T>(
  calls: readonly Call[],
  prepare: (name: string) => Promise<T>,
  act: (name: string, what: string, kind: FaultKind, prepared: T) => Promise<void>,
): Promise<void> => {
  const all = calls.flatMap((call) => kinds.map((kind) => ({ ...call, kind })));
  // By four, so that each call is tried with another kind than the one before.
  for (const { fake, nth, method, kind } of sampled(all, 4)) {
    const name = `fault-${++round}`;
    const prepared = await prepare(name);
    clear();
    cloud.faults[fake].inject({ nth, kind });
    await act(name, `${kind} at ${fake} ${nth} (${method})`, kind, prepared);
  }
};

const status = (records: readonly DeployEvent[]) => records.at(-1)?.status;

test("of a deploy that makes a volume and sets a schedule", { timeout: 240_000 }, async () => {
  await deploy("counted", first);
  const calls = await callsOf(() => deploy("counted", second("counted")));
  expect(new Set(calls.map(({ fake }) => fake))).toEqual(
    new Set(["run", "build", "registry", "iam", "storage", "scheduler", "logging"]),
  );
  await eachFault(
    calls,
    async (name) => {
      expect(status(await deploy(name, first))).toBe("DONE");
      return shown(name);
    },
    async (name, what, kind, before) => {
      const end = (await deploy(name, second(name))).at(-1);
      clear();
      const now = await shown(name);
      const words = `${what}: ${JSON.stringify(end)}`;
      if (end?.status === "DONE") expect(now, words).toMatchObject({ status: "READY", timeout: 11 });
      else {
        expect(kind, words).not.toBe("unavailable");
        if (end !== undefined) expect(end, words).toMatchObject({ status: "ERROR", reason: expect.any(String) });
        expect(end?.reason, words).not.toBe("internal");
        // A schedule is set behind the rollout.
        if (end?.reason === "schedule_failed") expect(now, words).toMatchObject({ status: "READY" });
        else expect(now, words).toMatchObject({ status: "READY", timeout: 10, revision: before?.revision });
      }
      expect(status(await deploy(name, second(name))), `${words}, then again`).toBe("DONE");
      expect(await shown(name), words).toMatchObject({ timeout: 11, schedule: { cron: "0 3 * * *" } });
      expect(await volumesOf(name), words).toEqual([`${name}-data`]);
    },
  );
});

test("of a delete", { timeout: 240_000 }, async () => {
  const remove = (name: string) => controlPlane.deleteDeployment(principalOf(`account-of-${name}`), { name });
  const prepare = async (name: string) => expect(status(await deploy(name, second(name)))).toBe("DONE");
  await prepare("removed");
  const calls = await callsOf(async () => remove("removed"));
  expect(calls.length).toBeGreaterThan(2);
  await eachFault(calls, prepare, async (name, what) => {
    const done = await remove(name);
    clear();
    if (done.isErr()) {
      expect(["unavailable", "conflict"], what).toContain(done.error.kind);
      const again = await remove(name);
      if (again.isErr()) expect(again.error.kind, what).toBe("not_found");
    }
    expect(await shown(name), what).toBeUndefined();
    // Nothing fires for what is not there any more.
    expect(
      cloud.jobs().filter((job) => job.endsWith(`-${name}`)),
      what,
    ).toEqual([]);
    expect(await volumesOf(name), what).toEqual([`${name}-data`]);
  });
});

test("of a volume's delete", { timeout: 240_000 }, async () => {
  const principal = (name: string) => principalOf(`account-of-${name}`);
  const prepare = async (name: string) =>
    expect((await controlPlane.createVolume(principal(name), { name: "data" })).isOk()).toBe(true);
  const remove = (name: string) => controlPlane.deleteVolume(principal(name), { name: "data" });
  await prepare("emptied");
  const calls = await callsOf(async () => remove("emptied"));
  expect(calls.length).toBeGreaterThan(4);
  await eachFault(calls, prepare, async (name, what) => {
    const done = await remove(name);
    clear();
    if (done.isErr()) {
      expect(done.error.kind, what).toBe("unavailable");
      const again = await remove(name);
      if (again.isErr()) expect(again.error.kind, what).toBe("not_found");
    }
    expect(await volumesOf(name), what).toEqual([]);
    const trash = await expectOk(controlPlane.listTrash(principal(name)));
    expect(
      trash.map((one) => one.name),
      what,
    ).toEqual(["data"]);
  });
});
