/** Many followers under Cloud Logging's quota of 60 reads a minute, on a virtual clock. */
import { expect, test } from "vitest";
import type { GcpClients } from "../../../../adapters/gcp/clients.ts";
import { createGcpLogs } from "../../../../adapters/gcp/logs/store.ts";
import { memoryCapabilities } from "../../../../adapters/memory/capabilities.ts";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { accountDigest } from "../../../../adapters/shared/accounts/account-digest.ts";
import { lastLinesOf } from "../../../../adapters/shared/deploy/last-lines.ts";
import type { CloudLogs } from "../../../../adapters/shared/logs/searches.ts";
import { randomIds } from "../../../../adapters/shared/runtime/system.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { millisOf, timestampOf } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { okAsync } from "../../../../core/result.ts";
import { followLog, LOG_PAGE } from "../../../../hosts/cli/logs/follow.ts";
import { fixedClients } from "../../../clouds/subject.ts";
import type { Message } from "../../../fakes/gcp/grpc.ts";
import { createLoggingService } from "../../../fakes/gcp/logging/service.ts";
import { gcpConfig } from "../../../fakes/gcp/test-project.ts";
import { whileTicking } from "../../../simulation/ticking.ts";
import { silentLogger } from "../../../support/logs/silent-logger.ts";
import { deployed, type MemoryPlatform, startMemory } from "../../../support/providers/memory-platform.ts";

const DEPLOYMENTS = 100;
const SETTLE_S = 10;
/** Milliseconds until the fake shows an entry, and the duration of a call. */
const VISIBLE_AFTER = 8000;
const CALL_MS = 300;
const MINUTES = 2;

interface Replica {
  readonly platform: MemoryPlatform;
  readonly logs: CloudLogs;
}

const accountOf = (n: number): AccountId => `account-${n % 10}` as AccountId;
const nameOf = (n: number): DeploymentName => `service-of-a-customer-${n}` as DeploymentName;

/** Replicas of a platform on one project with deployments. */
const startReplicas = async (count: number, logReadsPerMinute: number) => {
  const clock = createManualClock();
  const service = createLoggingService({ clock, visibleAfter: VISIBLE_AFTER, readsPerMinute: 60 });
  let reads = 0;
  const logging = {
    listLogEntries: async (request: Message) => {
      reads++;
      await clock.sleep(CALL_MS);
      const response = service.list({ pageToken: "", ...request }) as Message;
      return [response.entries, null, response];
    },
  } as unknown as GcpClients["logging"];
  const settled = { logs: { ...memoryCapabilities.logs, settle_seconds: SETTLE_S } };
  const replicas: Replica[] = [];
  for (let n = 0; n < count; n++) {
    const deps = { clock, ids: randomIds, logger: silentLogger, random: () => 0.5 };
    const logs = createGcpLogs({ ...gcpConfig, logReadsPerMinute }, fixedClients<GcpClients>({ logging }), deps);
    const around = () => ({ logs: { ...searchesOf(logs), append: () => okAsync(undefined) } });
    const [first] = replicas;
    const shared = first === undefined ? {} : { memory: first.platform.memory };
    replicas.push({ logs, platform: startMemory({ clock, capabilities: settled, around, ...shared }) });
  }
  const [{ platform }] = replicas as [Replica];
  for (let n = 0; n < DEPLOYMENTS; n++) await deployed(platform, { function_name: nameOf(n) }, accountOf(n));
  return { clock, service, replicas, reads: () => reads };
};

const searchesOf = (logs: CloudLogs) => ({
  newest: logs.newest.bind(logs),
  after: logs.after.bind(logs),
});

type Started = Awaited<ReturnType<typeof startReplicas>>;

interface Seen {
  readonly text: string;
  /** Milliseconds between writing and reading. */
  readonly delay: number;
}

/** Two followers of each deployment; the second one has a filter in half of the deployments. */
const follow = ({ clock, replicas }: Started, writtenAt: ReadonlyMap<string, number>, signal: AbortSignal) =>
  Array.from({ length: 2 * DEPLOYMENTS }, (_, index) => {
    const n = index % DEPLOYMENTS;
    const query = index >= DEPLOYMENTS && n % 2 === 1 ? 'textPayload:"even"' : undefined;
    const seen: Seen[] = [];
    let requests = 0;
    const read = async (since: string | undefined) => {
      // The requests of a follower reach the replicas in turn.
      const { platform } = replicas[requests++ % replicas.length] as Replica;
      const request = { deployment_name: nameOf(n), limit: LOG_PAGE, since, query };
      const page = await platform.controlPlane.readLogs(platform.principal(accountOf(n)), request);
      return page.isOk() ? page.value : undefined;
    };
    const wait = (millis: number) => clock.sleep(millis, signal);
    const done = (async () => {
      for await (const { message } of followLog(read, { since: timestampOf(clock.now()), signal, wait }))
        seen.push({ text: message, delay: millisOf(clock.now()) - (writtenAt.get(message) ?? 0) });
    })();
    return { n, query, seen, done };
  });

const simulate = async (started: Started) => {
  const { clock, service, replicas } = started;
  const lines = Array.from({ length: DEPLOYMENTS }, (): string[] => []);
  const writtenAt = new Map<string, number>();
  const write = (n: number, text: string, revision = "r-00001") => {
    const labels = { "portside-owner": accountDigest(accountOf(n)) };
    service.ingest({ service: nameOf(n), revision, instance: "i", stream: "stdout", line: text, labels });
    lines[n]?.push(text);
    writtenAt.set(text, millisOf(clock.now()));
  };
  const stop = new AbortController();
  const followers = follow(started, writtenAt, stop.signal);
  await clock.advance(1000);
  const failedDeploys: Promise<{ readonly wanted: string; readonly found: readonly string[] }>[] = [];
  /** A deploy that fails reads its last lines when they are visible. */
  const failDeploy = async (n: number, count: number) => {
    const wanted = `deploy ${count} of ${n} failed`;
    write(n, wanted, `r-${count}`);
    await clock.sleep(SETTLE_S * 1000);
    const lastLines = lastLinesOf((replicas[count % replicas.length] as Replica).logs.deployReads);
    const found = await lastLines({ owner: accountOf(n), service: nameOf(n), revision: `r-${count}` });
    return { wanted, found: found.map(({ text }) => text) };
  };
  for (let tick = 0; tick < MINUTES * 240; tick++) {
    for (let n = tick % 10; n < DEPLOYMENTS; n += 40) write(n, `${tick % 4 === 0 ? "even" : "odd"} ${tick} of ${n}`);
    if (tick % 30 === 0) failedDeploys.push(failDeploy(tick % DEPLOYMENTS, tick));
    await clock.advance(250);
  }
  await clock.advance(20_000);
  stop.abort();
  await whileTicking(clock, Promise.all(followers.map(({ done }) => done)));
  return { followers, lines, deploys: await whileTicking(clock, Promise.all(failedDeploys)) };
};

for (const [replicas, share] of [
  [1, 60],
  [2, 30],
] as const)
  test(`200 followers of 100 deployments see each line once within 15 s, with ${replicas} servers`, async () => {
    const started = await startReplicas(replicas, share);
    const { followers, lines, deploys } = await simulate(started);
    for (const { n, query, seen } of followers) {
      const wanted = (lines[n] as string[]).filter((text) => query === undefined || text.includes("even"));
      expect(seen.map(({ text }) => text)).toEqual(wanted);
    }
    const delays = followers.flatMap(({ seen }) => seen.map(({ delay }) => delay));
    expect(delays.length).toBeGreaterThan(2000);
    expect(Math.max(...delays)).toBeLessThanOrEqual(15_000);
    for (const { wanted, found } of deploys) expect(found).toEqual([wanted]);
    expect(started.service.refused()).toBe(0);
  });
