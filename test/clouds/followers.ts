/** Many followers of many deployments under a cloud's quota of log reads, on a virtual clock. */
import { expect } from "vitest";
import { lastLinesOf } from "../../adapters/cloud/deploy/last-lines.ts";
import type { CloudLogs } from "../../adapters/cloud/logs/searches.ts";
import { memoryCapabilities } from "../../adapters/memory/capabilities.ts";
import { createManualClock, type ManualClock } from "../../adapters/memory/index.ts";
import type { AccountId } from "../../core/domain/accounts/account.ts";
import { millisOf, timestampOf } from "../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../core/domain/wire/names.ts";
import type { LogScope } from "../../core/ports/log-store.ts";
import { okAsync } from "../../core/result.ts";
import { followLog, LOG_PAGE } from "../../hosts/cli/logs/follow.ts";
import { whileTicking } from "../simulation/ticking.ts";
import { deployed, type MemoryPlatform, startMemory } from "../support/providers/memory-platform.ts";

const SETTLE_S = 10;
const MINUTES = 2;
/** The milliseconds between two writes of a deployment. */
const WRITES_EVERY = 10_000;
const TICK_MS = 250;
/** The number of clients that read a page in one tick, and the ticks between two such reads. */
const SEARCHES = 5;
const SEARCH_TICKS = 80;
/** The first tick with such reads. In the minute before it, the followers' own first reads are searches. */
const SEARCHES_FROM = 240;

/** Milliseconds until a fake shows an entry, and the duration of a call. */
export const VISIBLE_AFTER = 8000;
export const CALL_MS = 300;

export interface FollowedCloud {
  /** Returns the log store of another server. */
  logs(): CloudLogs;
  /** Adds a line that a service writes. */
  write(line: LogScope & { readonly revision: string; readonly text: string }): void;
  /** Returns the number of reads that the quota rejected. */
  refused(): number;
}

interface Replica {
  readonly platform: MemoryPlatform;
  readonly logs: CloudLogs;
}

export const accountOf = (n: number): AccountId => `account-${n % 10}` as AccountId;
const nameOf = (n: number): DeploymentName => `service-of-a-customer-${n}` as DeploymentName;
const scopeOf = (n: number): LogScope => ({ owner: accountOf(n), service: nameOf(n) });

const searchesOf = (logs: CloudLogs) => ({
  newest: logs.newest.bind(logs),
  after: logs.after.bind(logs),
});

/** Servers of one platform, with deployments. */
const startReplicas = async (
  clock: ManualClock,
  cloud: FollowedCloud,
  { replicas: count, deployments }: Simulation,
) => {
  const settled = { logs: { ...memoryCapabilities.logs, settle_seconds: SETTLE_S } };
  const replicas: Replica[] = [];
  for (let n = 0; n < count; n++) {
    const logs = cloud.logs();
    const around = () => ({ logs: { ...searchesOf(logs), append: () => okAsync(undefined) } });
    const [first] = replicas;
    const shared = first === undefined ? {} : { memory: first.platform.memory };
    replicas.push({ logs, platform: startMemory({ clock, capabilities: settled, around, ...shared }) });
  }
  const [{ platform }] = replicas as [Replica];
  for (let n = 0; n < deployments; n++) await deployed(platform, { function_name: nameOf(n) }, accountOf(n));
  return replicas;
};

export interface Simulation {
  readonly replicas: number;
  readonly deployments: number;
  /** Longest time between writing and reading a line, in milliseconds. */
  readonly maxDelay: number;
  /** Called every 250 ms, to write other lines. */
  readonly onTick?: (cloud: FollowedCloud) => void;
}

interface Seen {
  readonly text: string;
  /** Milliseconds between writing and reading. */
  readonly delay: number;
}

/**
 * Two clients follow each deployment; the second one has a filter in half of the deployments. Some deploys fail
 * meanwhile, and some clients read a page. Expects that each follower reads each line once, each deploy its last lines,
 * and each other client its page, within the quota.
 */
export const followMany = async (createCloud: (clock: ManualClock) => FollowedCloud, simulation: Simulation) => {
  const { deployments, maxDelay } = simulation;
  const clock = createManualClock();
  const cloud = createCloud(clock);
  const replicas = await startReplicas(clock, cloud, simulation);
  const lines = Array.from({ length: deployments }, (): string[] => []);
  const writtenAt = new Map<string, number>();
  const write = (n: number, text: string, revision = "r-00001") => {
    cloud.write({ ...scopeOf(n), revision, text });
    lines[n]?.push(text);
    writtenAt.set(text, millisOf(clock.now()));
  };

  const stop = new AbortController();
  const followers = Array.from({ length: 2 * deployments }, (_, index) => {
    const n = index % deployments;
    const query = index >= deployments && n % 2 === 1 ? 'textPayload:"even"' : undefined;
    const seen: Seen[] = [];
    let requests = 0;
    const read = async (since: string | undefined) => {
      // The requests of a follower reach the replicas in turn.
      const { platform } = replicas[requests++ % replicas.length] as Replica;
      const request = { deployment_name: nameOf(n), limit: LOG_PAGE, since, query };
      const page = await platform.controlPlane.readLogs(platform.principal(accountOf(n)), request);
      return page.isOk() ? page.value : undefined;
    };
    const wait = (millis: number) => clock.sleep(millis, stop.signal);
    const done = (async () => {
      const options = { since: timestampOf(clock.now()), signal: stop.signal, wait };
      for await (const { message } of followLog(read, options))
        seen.push({ text: message, delay: millisOf(clock.now()) - (writtenAt.get(message) ?? 0) });
    })();
    return { n, query, seen, done };
  });
  await clock.advance(1000);

  /** A deploy that fails reads its last lines when they are visible. */
  const failDeploy = async (n: number, count: number) => {
    const wanted = `deploy ${count} of ${n} failed`;
    write(n, wanted, `r-${count}`);
    await clock.sleep(SETTLE_S * 1000);
    const lastLines = lastLinesOf((replicas[count % replicas.length] as Replica).logs.deployReads);
    const found = await lastLines({ ...scopeOf(n), revision: `r-${count}` });
    expect(found.map(({ text }) => text)).toEqual([wanted]);
  };
  /** A client that does not follow reads the newest lines of a deployment. */
  const readPage = async (tick: number, n: number) => {
    const { platform } = replicas[n % replicas.length] as Replica;
    const deployment = (tick + n) % deployments;
    const request = { deployment_name: nameOf(deployment), limit: LOG_PAGE };
    const page = await platform.controlPlane.readLogs(platform.principal(accountOf(deployment)), request);
    expect(page.isOk()).toBe(true);
  };
  const others: Promise<void>[] = [];
  const [ticks, ticksOfWrite] = [(MINUTES * 60_000) / TICK_MS, WRITES_EVERY / TICK_MS];
  for (let tick = 0; tick < ticks; tick++) {
    const parity = Math.floor(tick / ticksOfWrite) % 2 === 0 ? "even" : "odd";
    for (let n = tick % ticksOfWrite; n < deployments; n += ticksOfWrite) write(n, `${parity} ${tick} of ${n}`);
    // Not a deployment that writes in this tick: on AWS, lines of the same millisecond have no order.
    if (tick % 30 === 0) others.push(failDeploy((tick + 1) % deployments, tick));
    if (tick >= SEARCHES_FROM && tick % SEARCH_TICKS === 0)
      others.push(...Array.from({ length: SEARCHES }, (_, n) => readPage(tick, n)));
    simulation.onTick?.(cloud);
    await clock.advance(TICK_MS);
  }
  await clock.advance(SETTLE_S * 1000 + maxDelay);
  stop.abort();
  await whileTicking(clock, Promise.all([...followers.map(({ done }) => done), ...others]));

  for (const { n, query, seen } of followers) {
    const wanted = (lines[n] as string[]).filter((text) => query === undefined || text.includes("even"));
    expect(seen.map(({ text }) => text)).toEqual(wanted);
  }
  const delays = followers.flatMap(({ seen }) => seen.map(({ delay }) => delay));
  expect(delays.length).toBeGreaterThan(20 * deployments);
  expect(Math.max(...delays)).toBeLessThanOrEqual(maxDelay);
  expect(cloud.refused()).toBe(0);
};
