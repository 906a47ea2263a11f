/** Mutation tests of the contract suites: each group rejects an implementation that is broken on purpose. */
import { Readable } from "node:stream";
import { gunzipSync } from "node:zlib";
import { silent } from "../../adapters/local/accounts/identity.ts";
import { createMemorySessions } from "../../adapters/memory/accounts/sessions.ts";
import { createMemoryProvider } from "../../adapters/memory/index.ts";
import { createWorld } from "../../adapters/memory/world.ts";
import { createSessions } from "../../adapters/shared/accounts/sessions.ts";
import { createSystemClock, randomIds } from "../../adapters/shared/runtime/system.ts";
import type { AccountId, Principal } from "../../core/domain/accounts/account.ts";
import { sessionLimits } from "../../core/domain/accounts/limits.ts";
import { principalOfSession, type Session } from "../../core/domain/accounts/session.ts";
import type { InstanceStatus } from "../../core/domain/deploy/instance-status.ts";
import type { DeployFailure } from "../../core/domain/deploy/reason.ts";
import type { StoredRelease } from "../../core/domain/deploy/releases/release.ts";
import {
  before as beforeTime,
  behind,
  comparePositions,
  type LogPosition,
  ordinalCode,
} from "../../core/domain/logs/cursor.ts";
import type { LogEntry, NewLogEntry } from "../../core/domain/logs/entry.ts";
import { everything } from "../../core/domain/logs/filter/tree.ts";
import type { SqlValue } from "../../core/domain/sql/answer.ts";
import { freeSubscription } from "../../core/domain/usage/subscription.ts";
import { missing, offered } from "../../core/domain/wire/capabilities.ts";
import { type Instant, parseInstant, type Timestamp } from "../../core/domain/wire/instant.ts";
import type { Billing } from "../../core/ports/billing.ts";
import type { ImageBuilder } from "../../core/ports/image-builder.ts";
import type { LogStore } from "../../core/ports/log-store.ts";
import type { Identity, Provider } from "../../core/ports/provider.ts";
import type { RolloutRequest, ServicePlatform } from "../../core/ports/service-platform.ts";
import type { SessionHolder, SessionSecrets, Sessions } from "../../core/ports/sessions.ts";
import type { ReceivedSource, Source, SourceSpool } from "../../core/ports/source-spool.ts";
import {
  isSqlFailure,
  type SqlEngine,
  type SqlFailure,
  type SqlRows,
  type SqlScope,
} from "../../core/ports/sql-engine.ts";
import type { Clock, Ids } from "../../core/ports/system.ts";
import { ok, okAsync, ResultAsync } from "../../core/result.ts";
import {
  type BillingSubject,
  billingCases,
  type ClockSubject,
  clockCases,
  type DurableSubject,
  durableCases,
  freshNames,
  type IdentitySubject,
  identityCases,
  idsCases,
  imageBuilderCases,
  logSearchCases,
  logStoreCases,
  type ProviderSubject,
  runningServiceCases,
  servicePlatformCases,
  sourceSpoolCases,
  sqlEngineCases,
} from "../contracts/index.ts";
import { type Mutants, mutantTests, subjectWith } from "../support/vitest/mutants.ts";

const services = (change: (port: ServicePlatform) => Partial<ServicePlatform>) => () =>
  subjectWith((provider) => ({ services: { ...provider.services, ...change(provider.services) } }));
const builder = (change: (port: ImageBuilder) => Partial<ImageBuilder>) => () =>
  subjectWith((provider) => ({ builder: { ...provider.builder, ...change(provider.builder) } }));
const logs = (change: (port: LogStore) => Partial<LogStore>) => () =>
  subjectWith((provider) => ({ logs: { ...provider.logs, ...change(provider.logs) } }));
const spool = (change: (port: SourceSpool) => SourceSpool) => () =>
  subjectWith((provider) => ({ spool: change(provider.spool) }));

async function* withoutProgress(events: AsyncIterable<{ kind: string }>) {
  for await (const event of events) if (event.kind !== "progress") yield event;
}

async function* mapRows(
  rows: SqlRows["rows"],
  change: (value: SqlValue) => SqlValue,
): AsyncGenerator<readonly SqlValue[] | SqlFailure> {
  for await (const row of rows) yield isSqlFailure(row) ? row : row.map(change);
}

async function* firstRows(rows: SqlRows["rows"], count: number): AsyncGenerator<readonly SqlValue[] | SqlFailure> {
  let left = count;
  for await (const row of rows) if (left-- > 0) yield row;
}

const blank = ({ template }: RolloutRequest) => ({
  template,
  release: 99,
  uid: "u",
  revision: "failed",
  createdAt: "2026-01-01T00:00:00+00:00" as Timestamp,
  hasImage: true,
  envDigests: {},
});

/** A platform that changes the releases that it returns. */
const releases = (change: (releases: readonly StoredRelease[]) => readonly StoredRelease[]) =>
  services((port) => ({ releases: (...args) => (port.releases?.(...args) ?? okAsync([])).map(change) }));

const releaseMutants: Readonly<Record<string, () => ProviderSubject>> = {
  "platform that records nothing": releases(() => []),
  "platform that returns the oldest release first": releases((all) => all.toReversed()),
  "platform that loses the message": releases((all) => all.map((one) => ({ ...one, message: null }))),
  "platform that loses the restored release": releases((all) => all.map((one) => ({ ...one, rolledBackTo: null }))),
  "platform with one uid for each release": releases((all) => all.map((one) => ({ ...one, uid: `${one.release}` }))),
  "platform that shows the values as digests": releases((all) =>
    all.map((one) => ({ ...one, envDigests: one.template.env })),
  ),
  "platform that ignores the number of releases": services((port) => ({
    releases: (service) => port.releases?.(service) ?? okAsync([]),
  })),
  "platform that records failed rollouts": services((port) => {
    const failed = new Map<string, StoredRelease>();
    return {
      rollout: async function* noting(request, options) {
        for await (const event of port.rollout(request, options)) {
          if (event.kind === "failed") failed.set(request.template.name, { ...request.origin, ...blank(request) });
          yield event;
        }
      },
      releases: (service, options) =>
        (port.releases?.(service, options) ?? okAsync([])).map((all) => {
          const more = failed.get(service.name);
          return more === undefined ? all : [more, ...all];
        }),
    };
  }),
  "platform that shows releases to other accounts": services((port) => {
    const owners = new Map<string, AccountId>();
    return {
      rollout: (request, options) => {
        owners.set(request.template.name, request.template.owner);
        return port.rollout(request, options);
      },
      releases: ({ name, owner }, options) =>
        port.releases?.({ name, owner: owners.get(name) ?? owner }, options) ?? okAsync([]),
    };
  }),
  "platform that keeps the releases of a removed service": services((port) => {
    const kept = new Map<string, readonly StoredRelease[]>();
    return {
      releases: (service, options) =>
        (port.releases?.(service, options) ?? okAsync([])).map((all) => {
          const known = [...all, ...(kept.get(service.name) ?? []).filter(({ uid }) => all[0]?.uid !== uid)];
          kept.set(service.name, known);
          return known.length === 0 ? all : known;
        }),
    };
  }),
  "platform that numbers a new service from 1 with the old uid": releases((all) =>
    all.map((one, index) => ({ ...one, uid: "always", release: all.length - index })),
  ),
};

const anInstance: InstanceStatus = {
  id: "i1",
  revision: "app-00001",
  state: "ready",
  startedAt: "2026-01-01T00:00:00+00:00" as Timestamp,
  memoryBytes: null,
  cpuPercent: null,
};

const platformMutants: Mutants<ProviderSubject> = {
  releases: releaseMutants,
  instances: {
    "platform that shows instances to other accounts": services(() => ({ instances: () => okAsync([anInstance]) })),
    "platform that keeps the instances of a removed service": services((port) => {
      const removed = new Set<string>();
      return {
        remove: (name, ...rest) => {
          removed.add(name);
          return port.remove(name, ...rest);
        },
        instances: ({ name }) => okAsync(removed.has(name) ? [anInstance] : []),
      };
    }),
  },
  "running instances": () =>
    subjectWith((provider) => ({ capabilities: { ...provider.capabilities, runs: offered() } })),
  "find and list": {
    "platform that lists every account's services": services((port) => {
      const owners = new Set<AccountId>();
      return {
        rollout: (request, options) => {
          owners.add(request.template.owner);
          return port.rollout(request, options);
        },
        list: () =>
          new ResultAsync(
            Promise.all([...owners].map((owner) => port.list(owner))).then((all) =>
              okAsync(all.flatMap((one) => one.unwrapOr([]))),
            ),
          ),
      };
    }),
    "platform whose list is stale after a write": services((port) => {
      const kept = new Map<AccountId, ReturnType<ServicePlatform["list"]>>();
      return {
        list: (owner, { maxAgeMs = 0, ...options } = {}) => {
          const listed = (maxAgeMs > 0 ? kept.get(owner) : undefined) ?? port.list(owner, options);
          kept.set(owner, listed);
          return listed;
        },
      };
    }),
  },
  rollout: services((port) => ({
    rollout: (request, options) =>
      withoutProgress(port.rollout(request, options)) as ReturnType<ServicePlatform["rollout"]>,
  })),
  "may serve": {
    "platform that calls mayServe before the template is visible": services((port) => ({
      rollout: async function* early({ mayServe, ...request }, options) {
        const failure = await mayServe?.();
        if (failure === undefined) yield* port.rollout(request, options);
        else yield { kind: "failed", failure };
      },
    })),
    "platform that calls mayServe after traffic has moved": services((port) => ({
      rollout: async function* late({ mayServe, ...request }, options) {
        for await (const event of port.rollout(request, options)) {
          const failure = event.kind === "ready" ? await mayServe?.() : undefined;
          yield failure === undefined ? event : { kind: "failed", failure };
        }
      },
    })),
  },
  "may not serve": {
    "platform that does not call mayServe": services((port) => ({
      rollout: ({ mayServe: _mayServe, ...request }, options) => port.rollout(request, options),
    })),
    "platform that calls mayServe and ignores the result": services((port) => ({
      rollout: ({ mayServe, ...request }, options) =>
        port.rollout({ ...request, mayServe: async () => void (await mayServe?.()) }, options),
    })),
    "platform that leaves a rollout pending": services((port) => ({
      rollout: async function* stuck({ mayServe, ...request }, options) {
        const refused = Promise.withResolvers<DeployFailure>();
        const ask = async () => {
          const failure = await mayServe?.();
          if (failure !== undefined) refused.resolve(failure);
          return failure === undefined ? undefined : new Promise<undefined>(() => undefined);
        };
        const events = port.rollout({ ...request, mayServe: ask }, options)[Symbol.asyncIterator]();
        const failed = refused.promise.then((failure) => ({ value: { kind: "failed" as const, failure } }));
        for (;;) {
          const { value } = await Promise.race([events.next(), failed]);
          yield value;
          if (value.kind !== "progress") return;
        }
      },
    })),
  },
  // Ignores the condition: last write wins.
  "conditional writes": services((port) => {
    async function* careless(request: RolloutRequest) {
      const state = (await port.find(request.template.name))._unsafeUnwrap();
      const expected = state.kind === "held" ? { etag: state.service.etag, owner: state.owner } : "absent";
      yield* port.rollout({ ...request, expected });
    }
    return { rollout: careless };
  }),
  // Reports a removal without removing anything.
  remove: services(() => ({ remove: () => okAsync(undefined) })),
  notes: services(() => ({ noteDeploy: () => okAsync(undefined) })),
};

const declaresThatItRuns = () =>
  subjectWith((provider) => ({ capabilities: { ...provider.capabilities, runs: offered() } }));

const runningMutants: Mutants<ProviderSubject> = {
  "a running service": declaresThatItRuns,
  "a service that does not start": declaresThatItRuns,
  // A simulated service whose URL belongs to a real host.
  "a simulation": services((port) => ({
    rollout: async function* real(request, options) {
      for await (const event of port.rollout(request, options))
        yield event.kind === "ready" ? { ...event, url: "https://example.com" } : event;
    },
  })),
};

const builderMutants: Mutants<ProviderSubject> = {
  build: builder((port) => ({
    build: (request) => withoutProgress(port.build(request)) as ReturnType<ImageBuilder["build"]>,
  })),
  "content-addressed images": builder((port) => ({
    build: async function* renamed(request, options) {
      for await (const event of port.build(request, options))
        yield event.kind === "built" ? { ...event, image: `${event.image}#${randomIds.id()}` } : event;
    },
  })),
  abort: builder((port) => ({ build: (request) => port.build(request) })),
  "undeclared builders": () =>
    subjectWith(({ capabilities }) => ({
      capabilities: { ...capabilities, builders: { ...capabilities.builders, dockerfile: missing("none") } },
    })),
};

/** The time of every entry, from a clock that stands still. */
const JUST_NOW = createSystemClock().now();

/** A store with its own order of positions. */
const storeWithPlaces = (placed: (entries: readonly NewLogEntry[]) => readonly LogEntry[]) =>
  logs(() => {
    const kept: LogEntry[] = [];
    return {
      append: (entries) => {
        kept.push(...placed(entries));
        return okAsync(undefined);
      },
      newest: ({ owner, service }, { limit }) => {
        const entries = kept
          .filter((one) => one.owner === owner && one.service === service)
          .sort(comparePositions)
          .slice(-limit);
        return okAsync({ entries, partial: false });
      },
    };
  });

const logMutants: Mutants<ProviderSubject> = {
  read: {
    "store without the last entry": logs((port) => ({
      newest: (...args) => port.newest(...args).map((found) => ({ ...found, entries: found.entries.slice(0, -1) })),
    })),
    "store that loses a batch for one entry": logs((port) => ({
      append: (entries, options) => {
        try {
          JSON.stringify(entries.map(({ json }) => json));
          return port.append(entries, options);
        } catch {
          return okAsync(undefined);
        }
      },
    })),
  },
  order: {
    "store with the newest first": logs((port) => ({
      newest: (...args) => port.newest(...args).map((found) => ({ ...found, entries: found.entries.toReversed() })),
    })),
    "store that restarts its positions with each call": storeWithPlaces((entries) =>
      entries.map((entry, index) => ({ ...entry, instant: JUST_NOW, code: ordinalCode(index) })),
    ),
  },
  // Ignores the scope of a log.
  scope: logs((port) => {
    const shared = "shared" as AccountId;
    return {
      append: (entries) => port.append(entries.map((entry) => ({ ...entry, owner: shared }))),
      newest: (scope, query) => port.newest({ ...scope, owner: shared }, query),
    };
  }),
};

const sqlEngine = (change: (port: SqlEngine) => Partial<SqlEngine>) => () =>
  subjectWith(({ sql }) => ({
    sql: { describe: (...args) => sql.describe(...args), run: (...args) => sql.run(...args), ...change(sql) },
  }));

const sqlMutants: Mutants<ProviderSubject> = {
  // Ignores subqueries.
  describe: sqlEngine((port) => ({
    describe: (...args) => port.describe(...args).map((sum) => ({ ...sum, tables: sum.tables.slice(0, 1) })),
  })),
  schema: {
    "engine that lacks a column": sqlEngine((port) => ({
      run: (...args) => port.run(...args).map(({ columns, rows }) => ({ columns: columns.slice(0, -1), rows })),
    })),
    "engine that names its own types": sqlEngine((port) => ({
      run: (...args) =>
        port.run(...args).map(({ columns, rows }) => ({
          columns: columns.map(({ name, type }) => ({ name, type: type === "STRING" ? "VARCHAR" : type })),
          rows,
        })),
    })),
  },
  // Rounds numbers instead of writing all digits.
  run: sqlEngine((port) => ({
    run: (...args) =>
      port.run(...args).map(({ columns, rows }) => ({
        columns,
        rows: mapRows(rows, (value) =>
          typeof value === "string" && value !== "" && Number(value) > 0 ? Number(value) : value,
        ),
      })),
  })),
  // Always answers with its first result.
  fresh: sqlEngine((port) => {
    const seen = new Map<string, Awaited<ReturnType<SqlEngine["run"]>>>();
    return {
      run: (scope, statement, ...rest) =>
        new ResultAsync(
          (async () => {
            const key = `${scope.owner} ${statement}`;
            const known = seen.get(key) ?? (await port.run(scope, statement, ...rest));
            seen.set(key, known);
            return known;
          })(),
        ),
    };
  }),
  scope: sqlEngine((port) => {
    let first: SqlScope | undefined;
    return {
      run: (scope, ...rest) => {
        first ??= scope;
        return port.run(first, ...rest);
      },
    };
  }),
  limits: {
    "engine that truncates silently": sqlEngine((port) => ({
      run: (scope, statement, limits) =>
        port.run(scope, statement, { ...limits, rows: 10_000, bytes: 1_000_000 }).map(({ columns, rows }) => ({
          columns,
          rows: firstRows(rows, limits.rows),
        })),
    })),
    "engine that reports a timeout as a failure": sqlEngine((port) => ({
      run: (...args) =>
        port
          .run(...args)
          .mapErr((error) => (error.kind === "timeout" ? { kind: "failed", message: "It was ended." } : error)),
    })),
  },
  failures: sqlEngine((port) => ({
    run: (...args) =>
      port
        .run(...args)
        .mapErr((error) =>
          error.kind === "unavailable" ? error : { kind: "failed", message: `DuckDB: ${error.kind}` },
        ),
  })),
};

const before = (port: LogStore) => port.before as NonNullable<LogStore["before"]>;

const count = (port: LogStore) => port.count as NonNullable<LogStore["count"]>;

/** The position just before this one, in a store whose positions are consecutive numbers. */
const previous = ({ instant, code }: LogPosition): LogPosition =>
  Number(code) === 0 ? behind((instant - 1n) as Instant) : { instant, code: ordinalCode(Number(code) - 1) };

const searchMutants: Mutants<ProviderSubject> = {
  // Continues after the time of the last entry, not after the entry.
  cursor: {
    "store that skips the rest of a timestamp": logs((port) => ({
      after: (scope, { instant }, ...rest) => port.after(scope, behind(instant), ...rest),
    })),
    "store that begins a page with the entry of its cursor": logs((port) => ({
      after: (scope, { instant, code }, ...rest) =>
        port.after(scope, code === behind(instant).code ? { instant, code } : previous({ instant, code }), ...rest),
    })),
  },
  backwards: {
    "store that skips the rest of a timestamp": logs((port) => ({
      before: (scope, { instant }, ...rest) => before(port)(scope, beforeTime(instant), ...rest),
    })),
    "store that leaves out the entry of its position": logs((port) => ({
      before: (scope, place, ...rest) => before(port)(scope, previous(place), ...rest),
    })),
    "store that claims to have read everything": logs((port) => ({
      before: (...args) => before(port)(...args).map(({ entries }) => ({ entries, partial: false })),
    })),
    "store that returns the oldest matches first": logs((port) => ({
      before: (...args) => before(port)(...args).map((found) => ({ ...found, entries: found.entries.toReversed() })),
    })),
    "store that ignores the filter": logs((port) => ({
      before: (scope, place, query) => before(port)(scope, place, { ...query, filter: everything }),
    })),
    "store that reads newer entries than it may": logs((port) => ({
      before: (scope, place, { until: _until, ...query }, options) => before(port)(scope, place, query, options),
    })),
    "store that makes no progress": logs((port) => ({
      before: (scope, place, query, options) =>
        before(port)(scope, place, query, options).map((found) => (found.partial ? { ...found, seen: place } : found)),
    })),
    "store that ignores the signal": logs((port) => ({
      before: (scope, place, query) => before(port)(scope, place, query),
    })),
  },
  count: {
    "store that counts the entries of the first edge": logs((port) => ({
      count: (scope, { edges, ...query }, options) =>
        count(port)(scope, { ...query, edges: edges.map((edge, at) => (at === 0 ? previous(edge) : edge)) }, options),
    })),
    "store that ignores the filter": logs((port) => ({
      count: (scope, query, options) => count(port)(scope, { ...query, filter: everything }, options),
    })),
    "store that reports every entry as INFO": logs((port) => ({
      count: (...args) =>
        count(port)(...args).map((found) => ({
          ...found,
          counts: found.counts.map((counts) =>
            Object.keys(counts).length === 0 ? {} : { INFO: Object.values(counts).reduce((sum, one) => sum + one, 0) },
          ),
        })),
    })),
    "store that claims to have counted everything": logs((port) => ({
      count: (...args) => count(port)(...args).map(({ counts }) => ({ counts })),
    })),
    "store that makes no progress": logs((port) => ({
      count: (scope, query, options) =>
        count(port)(scope, query, options).map((found) =>
          found.seen === undefined ? found : { ...found, seen: query.edges.at(-1) as LogPosition },
        ),
    })),
    "store that ignores the signal": logs((port) => ({
      count: (scope, query) => count(port)(scope, query),
    })),
  },
  seen: logs((port) => ({
    newest: (...args) => port.newest(...args).map(({ entries, partial }) => ({ entries, partial })),
  })),
  until: logs((port) => ({
    newest: (scope, { until: _until, ...query }) => port.newest(scope, query),
    after: (scope, place, { until: _until, ...query }) => port.after(scope, place, query),
  })),
  filter: logs((port) => ({
    after: (scope, place, query) => port.after(scope, place, { ...query, filter: everything }),
  })),
  // Reports the search as complete.
  size: logs((port) => ({
    after: (...args) => port.after(...args).map((found) => ({ ...found, partial: false })),
  })),
  // Reports unread entries as read.
  timeout: {
    "store that claims to have read everything": logs((port) => ({
      after: (scope, place, query) =>
        port
          .after(scope, place, query)
          .andThen((found) =>
            port.newest(scope, query).map(({ seen }) => ({ ...found, ...(seen === undefined ? {} : { seen }) })),
          ),
    })),
    "store that is slow": logs((port) => ({
      newest: (scope, query, options) => port.newest(scope, { ...query, timeoutMs: 60_000 }, options),
      after: (scope, place, query, options) => port.after(scope, place, { ...query, timeoutMs: 60_000 }, options),
    })),
    "store that makes no progress": logs((port) => ({
      after: (scope, place, query, options) =>
        port.after(scope, place, query, options).map(({ entries }) => ({ entries, seen: place, partial: true })),
    })),
  },
  abort: logs((port) => ({
    newest: (scope, query) => port.newest(scope, query),
    after: (scope, place, query) => port.after(scope, place, query),
  })),
};

async function* firstByte(source: Source): AsyncGenerator<Uint8Array> {
  for await (const chunk of source.open()) return yield chunk.subarray(0, 1);
}

/** The result of a spool that accepts everything and stores nothing. */
const keptAnyway: ReceivedSource = {
  kind: "accepted",
  source: { digest: `sha256:${"0".repeat(64)}`, bytes: 0, open: () => empty(), discard: async () => undefined },
};

async function* empty(): AsyncGenerator<Uint8Array> {}

/** Returns a spool's refusal of an invalid archive. */
const refusalBy = async (receive: SourceSpool["receive"]): Promise<ReceivedSource> =>
  (await receive(Readable.from([Buffer.from("no archive")])))._unsafeUnwrap();

/** A spool that misses one fault. */
const overlooking =
  (fault: RegExp) =>
  ({ receive }: SourceSpool): SourceSpool => ({
    receive: (...args) =>
      receive(...args).map((received) =>
        received.kind === "rejected" && received.issues.some(({ message }) => fault.test(message))
          ? keptAnyway
          : received,
      ),
  });

const spoolMutants: Mutants<ProviderSubject> = {
  keep: spool((port) => ({
    receive: (bytes) =>
      port
        .receive(bytes)
        .map((received) =>
          received.kind === "accepted"
            ? { kind: "accepted", source: { ...received.source, open: () => firstByte(received.source) } }
            : received,
        ),
  })),
  refuse: {
    "spool that accepts everything": spool(() => ({ receive: () => okAsync(keptAnyway) })),
    "spool that ignores implied folders": spool(overlooking(/including folders that appear only in paths/)),
    "spool that accepts folders in place of files": spool(overlooking(/which is a file$|is a file|is a folder/)),
    "spool that trusts pax headers": spool(overlooking(/link target|disagree|global pax header/)),
    "spool that shortens paths": spool(overlooking(/control character|UTF-8/)),
    // Accepts every archive that can be unpacked, without checking its entries.
    "spool that does not check entries": spool(({ receive }) => ({
      receive: (bytes) =>
        new ResultAsync(
          (async () => {
            const whole = Buffer.concat(await Array.fromAsync(bytes));
            try {
              return ok(gunzipSync(whole).length > 0 ? keptAnyway : await refusalBy(receive));
            } catch {
              return ok(await refusalBy(receive));
            }
          })(),
        ),
    })),
  },
  discard: spool((port) => ({
    receive: (bytes, options) =>
      port
        .receive(bytes, options)
        .map((received) =>
          received.kind === "accepted"
            ? { kind: "accepted", source: { ...received.source, discard: async () => undefined } }
            : received,
        ),
  })),
  break: spool(() => ({ receive: () => okAsync(keptAnyway) })),
};

const identitySubject = (change: (identity: Identity) => Partial<Identity>) => (): IdentitySubject => {
  const { identity } = createMemoryProvider();
  return { identity: { ...identity, ...change(identity) }, account: freshNames("mutant").account };
};

const anybody = { account: "anybody" as AccountId, credentialId: "any" };

const sessionSubject = (change: (sessions: Sessions, identity: Identity) => Partial<Sessions>) =>
  identitySubject((identity) => {
    const sessions = identity.sessions as Sessions;
    return { sessions: { ...sessions, ...change(sessions, identity) } };
  });

/** Remembers the principal of each session that it starts. */
const rememberingSessions = (sessions: Sessions, keyOf: (secrets: SessionSecrets) => string): Partial<Sessions> => {
  const known = new Map<string, Principal>();
  return {
    create: (holder) =>
      sessions.create(holder).map((made) => {
        known.set(
          keyOf(made.secrets),
          principalOfSession(made.session, parseInstant(made.session.expiresAt) as Instant),
        );
        return made;
      }),
    authenticate: (secrets) => {
      const principal = known.get(keyOf(secrets));
      return principal === undefined ? sessions.authenticate(secrets) : okAsync(principal);
    },
  };
};

const identityMutants: Mutants<IdentitySubject> = {
  sessions: {
    "a cookie that suffices": sessionSubject((sessions) => rememberingSessions(sessions, ({ cookie }) => cookie)),
    "a request token that suffices": sessionSubject((sessions) =>
      rememberingSessions(sessions, ({ requestToken }) => requestToken),
    ),
    "sessions that outlive their token": sessionSubject((sessions) => ({
      create: (holder) => sessions.create({ ...holder, expiresAt: undefined }),
    })),
  },
  "session lists": {
    "sessions of all accounts": sessionSubject((sessions) => {
      const made: Session[] = [];
      return {
        create: (holder) =>
          sessions.create(holder).map((one) => {
            made.push(one.session);
            return one;
          }),
        list: () => okAsync(made),
      };
    }),
    "a session for each key of the account": sessionSubject((sessions, { keys }) => ({
      list: (account) =>
        keys.list(account).andThen((own) => sessions.list(account).map((listed) => own.flatMap(() => listed))),
    })),
    "a session with its secrets": sessionSubject((sessions) => ({
      create: (holder) =>
        sessions.create(holder).map((made) => ({ ...made, session: { ...made.session, ...made.secrets } })),
    })),
  },
  "session limits": {
    "sessions without a maximum": sessionSubject((sessions) => {
      const made: Session[] = [];
      return {
        create: (holder) =>
          sessions.create(holder).map((one) => {
            made.push(one.session);
            return one;
          }),
        list: () => okAsync(made),
      };
    }),
    "a session that ends itself at the maximum": sessionSubject((sessions) => ({
      create: (holder) =>
        sessions.list(holder.account).andThen((before) =>
          before.length < sessionLimits.perAccount
            ? sessions.create(holder)
            : sessions.create(holder).andThen((made) =>
                sessions
                  .revoke(holder.account, made.session.id)
                  .map(() => made)
                  .orElse(() => okAsync(made)),
              ),
        ),
    })),
  },
  "ended sessions": {
    "a revocation that succeeds for ended sessions": sessionSubject((sessions) => ({
      revoke: (...args) => sessions.revoke(...args).orElse(() => okAsync(undefined)),
    })),
    "sessions that are never revoked": sessionSubject(() => ({ revoke: () => okAsync(undefined) })),
    "sessions that seem to last": sessionSubject(() => ({ isLive: () => okAsync(true) })),
    "a revocation without an account": sessionSubject((sessions) => {
      const owners = new Map<string, AccountId>();
      return {
        create: (holder) =>
          sessions.create(holder).map((made) => {
            owners.set(made.session.id, holder.account);
            return made;
          }),
        revoke: (account, id) => sessions.revoke(owners.get(id) ?? account, id),
      };
    }),
  },
  "sessions of revoked keys": sessionSubject((_sessions, { keys }) => {
    const live = { ...keys, has: () => okAsync(true) };
    const records = createMemorySessions(createWorld());
    const clock = createSystemClock();
    return createSessions({ records, keys: live, clock, ids: randomIds, logger: silent });
  }),
  links: {
    "a link that works twice": sessionSubject((sessions) => {
      const holders = new Map<string, SessionHolder>();
      return {
        createLink: (holder) =>
          sessions.createLink(holder).map((link) => {
            holders.set(link.token, holder);
            return link;
          }),
        useLink: (token) => {
          const holder = holders.get(token);
          return holder === undefined ? sessions.useLink(token) : okAsync(holder);
        },
      };
    }),
    "a link that outlives its token": sessionSubject((sessions) => ({
      createLink: (holder) => sessions.createLink({ ...holder, expiresAt: undefined }),
    })),
  },
  "concurrent links": sessionSubject((sessions) => {
    const pending = new Map<string, ReturnType<Sessions["useLink"]>>();
    // Concurrent calls share one result.
    const useLink: Sessions["useLink"] = (token) => {
      const call = pending.get(token) ?? sessions.useLink(token);
      pending.set(token, call);
      return call;
    };
    return { useLink };
  }),
  keys: {
    "keys that are never revoked": identitySubject(({ keys }) => ({
      keys: { ...keys, revoke: () => okAsync(undefined) },
    })),
    "keys that may be revoked twice": identitySubject(({ keys }) => {
      const revoked = new Set<string>();
      const revoke = (account: AccountId, id: string) =>
        revoked.has(id)
          ? okAsync(undefined)
          : keys.revoke(account, id).andThen(() => {
              revoked.add(id);
              return okAsync(undefined);
            });
      return { keys: { ...keys, revoke } };
    }),
  },
  concurrency: identitySubject(({ keys }) => {
    const first = keys.create(anybody.account, "the only one");
    return { keys: { ...keys, create: () => first } };
  }),
  use: identitySubject(({ keys }) => ({
    keys: {
      ...keys,
      list: (account) =>
        keys
          .list(account)
          .map((own) => own.map((key) => ({ ...key, lastUsedAt: "2000-01-01T00:00:00Z" as Timestamp }))),
    },
  })),
  refusals: identitySubject(() => ({ authenticator: { authenticate: () => okAsync(anybody) } })),
  tokens: identitySubject(({ tokens }) => ({ tokens: { issue: () => tokens.issue(anybody) } })),
  "minted tokens": identitySubject(({ tokens }) => ({
    tokens: { issue: ({ account, credentialId }) => tokens.issue({ account, credentialId }) },
  })),
};

const billingSubject = (change: (billing: Billing) => Billing["subscription"]) => (): BillingSubject => {
  const { billing } = createMemoryProvider();
  return {
    billing: { subscription: change(billing) },
    sell: async (...sold) => billing.subscribe(...sold),
    down: billing.down,
    account: freshNames("mutant").account,
  };
};

const billingMutants: Mutants<BillingSubject> = {
  // Treats an unknown account as one that has not paid.
  free: billingSubject((port) => (account) => port.subscription(account).map((one) => ({ ...one, status: "unpaid" }))),
  // Reports the amount in whole units.
  subscription: billingSubject(
    (port) => (account) => port.subscription(account).map((one) => ({ ...one, amount: (one.amount ?? 0) / 100 })),
  ),
  // Ignores case.
  scope: billingSubject((port) => (account) => port.subscription(account.toLowerCase() as AccountId)),
  // Grants everything during an outage.
  down: billingSubject(
    (port) => (account) => port.subscription(account).orElse(() => okAsync(freeSubscription("none"))),
  ),
};

/** A provider over memory that reopens with some parts in their initial state. */
const durable = (forgetting: (kept: Provider, fresh: Provider) => Partial<Provider>) => (): DurableSubject => {
  let { provider } = createMemoryProvider();
  return {
    get provider() {
      return provider;
    },
    reopen: async () => {
      provider = { ...provider, ...forgetting(provider, createMemoryProvider().provider) };
    },
    ...freshNames("durable"),
  };
};

const durableMutants: Mutants<DurableSubject> = {
  "durable logs": {
    "store that forgets its entries": durable((_, { logs: fresh }) => ({ logs: fresh })),
    "store that forgets the last position": durable(({ logs: kept }) => ({
      logs: {
        ...kept,
        after: (scope, place, query, options) =>
          kept.after(scope, place, query, options).map((found) => ({
            ...found,
            entries: found.entries.map((entry) => ({ ...entry, ...previous(place) })),
          })),
      },
    })),
  },
  "durable secrets": {
    "store that forgets its secrets": durable((_, fresh) =>
      fresh.secrets === undefined ? {} : { secrets: fresh.secrets },
    ),
    "store that counts from 1 after a restart": durable((kept) => {
      const { secrets } = kept;
      if (secrets === undefined) return {};
      return {
        secrets: {
          list: (owner) => secrets.list(owner),
          delete: (...args) => secrets.delete(...args),
          beginRedeploys: (...args) => secrets.beginRedeploys(...args),
          endRedeploys: (...args) => secrets.endRedeploys(...args),
          pendingRedeploys: (...args) => secrets.pendingRedeploys(...args),
          set: (owner, name, value) =>
            secrets.set(owner, name, value).andThen((version) =>
              secrets.list(owner).map((all) => ({
                ...version,
                version: all.find((one) => one.name === name)?.versions.length ?? 1,
              })),
            ),
        },
      };
    }),
  },
  "durable redeploys": {
    "store that forgets the pending redeploys": durable(({ secrets }) => {
      if (secrets === undefined) return {};
      return {
        secrets: {
          list: (owner) => secrets.list(owner),
          delete: (...args) => secrets.delete(...args),
          set: (...args) => secrets.set(...args),
          beginRedeploys: (...args) => secrets.beginRedeploys(...args),
          endRedeploys: (...args) => secrets.endRedeploys(...args),
          pendingRedeploys: () => okAsync([]),
        },
      };
    }),
  },
  "durable volumes": {
    "store that forgets its volumes": durable((_, { volumes: fresh }) => ({ volumes: fresh })),
    "store that forgets its trash": durable(({ volumes: kept }) => ({
      volumes: { ...kept, trash: () => okAsync([]) },
    })),
  },
};

const clockSubject = (change: Partial<Clock>) => (): ClockSubject => {
  const clock = createSystemClock();
  return { clock: { ...clock, ...change }, pass: (millis) => clock.sleep(millis) };
};

const frozen = createSystemClock().now();

const clockMutants: Mutants<ClockSubject> = {
  now: clockSubject({ now: () => frozen }),
  sleep: clockSubject({ sleep: async () => undefined }),
};

const idsMutants: Mutants<Ids> = {
  id: () => ({ ...randomIds, id: () => "aaaaaaaaaaaaaaaaaaaa" }),
  secret: () => ({ ...randomIds, secret: (length) => "a".repeat(length) }),
};

mutantTests("ServicePlatform", servicePlatformCases, platformMutants);
mutantTests("running services", runningServiceCases, runningMutants);
mutantTests("ImageBuilder", imageBuilderCases, builderMutants);
mutantTests("LogStore", logStoreCases, logMutants);
mutantTests("LogStore, searched", logSearchCases, searchMutants);
mutantTests("SqlEngine", sqlEngineCases, sqlMutants);
mutantTests("SourceSpool", sourceSpoolCases, spoolMutants);
mutantTests("identity", identityCases, identityMutants);
mutantTests("Billing", billingCases, billingMutants);
mutantTests("providers, reopened", durableCases, durableMutants);
mutantTests("Clock", clockCases, clockMutants);
mutantTests("Ids", idsCases, idsMutants);
