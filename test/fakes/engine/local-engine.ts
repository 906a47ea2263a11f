/**
 * Runs revisions of the fake clouds as local processes, with a local provider in a temporary folder. A revision that
 * listens waits in the provider's `mayServe` until the fake moves traffic to it.
 */
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLocalProvider } from "../../../adapters/local/index.ts";
import type { LocalLogs } from "../../../adapters/local/logs/log-store.ts";
import { LogWriter } from "../../../adapters/local/logs/log-writer.ts";
import { entriesIn } from "../../../adapters/local/logs/service-output.ts";
import { createSystemClock } from "../../../adapters/shared/runtime/system.ts";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import type { ServiceTemplate } from "../../../core/domain/deploy/service-template.ts";
import type { DeploymentName, VolumeName } from "../../../core/domain/wire/names.ts";
import { testOrigin } from "../../contracts/support.ts";
import type { EngineBuild } from "./builds.ts";
import { type EngineRevision, formatFailedProbe, type RunEngine, type RunLine } from "./engine.ts";

const OWNER = "fake-run" as AccountId;

export interface LocalEngineOptions {
  readonly onLine: (line: RunLine) => void;
  /** Parent of bucket folders, whose files are the objects; if absent, mounts are temporary folders. */
  readonly buckets?: string;
  readonly runner?: "bubblewrap" | "process";
}

export interface LocalEngine {
  readonly engine: RunEngine;
  /** Builds a source. Returns the failure, or the image for `EngineRevision`. */
  readonly build: EngineBuild;
  close(): Promise<void>;
}

interface Held {
  readonly spec: EngineRevision;
  readonly mayServe: PromiseWithResolvers<DeployFailure | undefined>;
  readonly abort: AbortController;
  readonly ended: Promise<void>;
}

const templateOf = (spec: EngineRevision): ServiceTemplate => {
  const { CRON_TOKEN: cronToken = "", ...env } = spec.env;
  return {
    name: spec.service as DeploymentName,
    owner: OWNER,
    port: spec.port,
    memory: spec.memory,
    cpu: spec.cpu,
    timeout: spec.timeout,
    concurrency: spec.concurrency,
    maxInstances: spec.maxInstances,
    sessionAffinity: spec.sessionAffinity,
    useHttp2: spec.http2,
    mounts: spec.mounts.map((mount) => ({ ...mount, volume: mount.bucket as VolumeName })),
    schedule: null,
    env,
    cronToken,
    ...(spec.health && { health: spec.health }),
    image: spec.image,
    deployId: spec.revision,
  };
};

/** Cloud Run's message for a container's end: https://docs.cloud.google.com/run/docs/troubleshooting */
const formatSystemLine = ({ reason, exitCode }: DeployFailure, spec: EngineRevision): string | undefined => {
  if (spec.health !== undefined && (reason === "unhealthy" || reason === "did_not_listen"))
    return formatFailedProbe(spec, spec.health, reason === "unhealthy");
  if (reason === "out_of_memory") return "Memory limit of 512 MiB exceeded with 600 MiB used.";
  if (exitCode !== undefined) return `Container called exit(${exitCode}).`;
  return reason === "crashed" ? "Container terminated on signal 9." : undefined;
};

export const createLocalEngine = async ({ onLine, buckets, runner }: LocalEngineOptions): Promise<LocalEngine> => {
  const dataDir = await mkdtemp(join(tmpdir(), "portside-fake-run-"));
  const limits = { instancesPerAccount: 1000, drainSeconds: 1, graceSeconds: 1 };
  const local = await createLocalProvider({ dataDir, ingressPort: 0, ...limits, ...(runner && { runner }) });
  const { services, builder, spool } = local.provider;
  const held = new Map<string, Held>();
  const served = new Map<string, Map<string, EngineRevision>>();
  const serving = new Map<string, string>();
  /** The fake's revision by the local provider's revision. */
  const names = new Map<string, string>();

  // The provider writes every log entry through this method; forward what Cloud Run sends to Cloud Logging.
  const { writer } = local.provider.logs as LocalLogs;
  if (!(writer instanceof LogWriter)) throw new Error("the engine must run in this process");
  const push = writer.push.bind(writer);
  writer.pushOutput = (output, at) => {
    let room: Promise<void> | undefined;
    for (const [entry, instant] of entriesIn(output, at ?? createSystemClock().now()))
      room = writer.push(entry, instant) ?? room;
    return room;
  };
  writer.push = (entry, at) => {
    const { service, instance, severity, logName, text, json, http } = entry;
    const revision = names.get(entry.revision ?? "") ?? serving.get(service) ?? "";
    const log = logName === "platform" ? "varlog/system" : logName;
    const rest = {
      ...(instance && { instance }),
      ...(text !== undefined && { text }),
      ...(json && { json }),
      ...(http && { http }),
    };
    if (logName !== "platform") onLine({ service, revision, log, severity, ...rest });
    return push(entry, at);
  };

  // Created after the provider starts, because the start moves unknown folders away. Mounts follow no links, but this
  // link is above the volumes' folders.
  const volumes = join(dataDir, "storage", "volumes");
  if (buckets !== undefined) {
    await rm(volumes, { recursive: true, force: true });
    await symlink(buckets, volumes);
  }

  const release = async (service: string, answer: DeployFailure | undefined): Promise<void> => {
    const one = held.get(service);
    held.delete(service);
    one?.mayServe.resolve(answer);
    // Do not wait for a revision that is still starting.
    if (answer !== undefined) one?.abort.abort();
    await one?.ended;
  };

  const start = async (spec: EngineRevision): Promise<boolean> => {
    const { service, revision } = spec;
    await release(service, { reason: "superseded", message: "Another revision is newer." });
    for (const { bucket } of spec.mounts) await mkdir(join(volumes, bucket), { recursive: true });
    const found = (await services.find(service as DeploymentName))._unsafeUnwrap();
    const expected = found.kind === "held" ? { etag: found.service.etag, owner: OWNER } : ("absent" as const);
    const listens = Promise.withResolvers<boolean>();
    const mayServe = Promise.withResolvers<DeployFailure | undefined>();
    const abort = new AbortController();
    const request = {
      template: templateOf(spec),
      expected,
      origin: testOrigin,
      listenDeadlineMs: spec.listenMillis,
      mayServe: () => {
        listens.resolve(true);
        return mayServe.promise;
      },
    };
    const follow = async (): Promise<void> => {
      for await (const event of services.rollout(request, { signal: abort.signal })) {
        if (event.kind === "progress") {
          const local = /^Starting revision (\S+)/.exec(event.message)?.[1];
          if (local !== undefined) names.set(local, revision);
        }
        if (event.kind !== "failed") continue;
        const text = formatSystemLine(event.failure, spec);
        if (text !== undefined) onLine({ service, revision, log: "varlog/system", severity: "WARNING", text });
      }
      listens.resolve(false);
    };
    held.set(service, { spec, mayServe, abort, ended: follow() });
    return listens.promise;
  };

  const serve = async (service: string, revision: string): Promise<void> => {
    if (serving.get(service) === revision) return;
    if (held.get(service)?.spec.revision !== revision) {
      const spec = served.get(service)?.get(revision);
      if (spec === undefined || !(await start(spec))) throw new Error(`the fake cannot serve ${revision}`);
    }
    const known = served.get(service) ?? new Map();
    served.set(service, known.set(revision, held.get(service)?.spec as EngineRevision));
    await release(service, undefined);
    serving.set(service, revision);
  };

  return {
    engine: {
      start,
      serve,
      url: async (service) => {
        const found = (await services.find(service as DeploymentName))._unsafeUnwrap();
        return found.kind === "held" ? found.service.url : "";
      },
      remove: async (service) => {
        await release(service, { reason: "deleted", message: "The service was deleted." });
        const found = (await services.find(service as DeploymentName))._unsafeUnwrap();
        if (found.kind === "held")
          (await services.remove(found.service.name, { etag: found.service.etag, owner: OWNER }))._unsafeUnwrap();
        for (const map of [served, serving]) map.delete(service);
      },
    },

    build: async (archive, say, signal) => {
      const received = (
        await spool.receive(
          (async function* () {
            yield archive;
          })(),
        )
      )._unsafeUnwrap();
      if (received.kind === "rejected")
        return { failure: { reason: "archive_invalid", message: "It is not an archive." } };
      const request = { owner: OWNER, name: "build" as DeploymentName, deployId: "build", source: received.source };
      try {
        for await (const event of builder.build(request, { signal })) {
          if (event.kind === "progress") say(event.message);
          else if (event.kind === "built") return { image: event.image };
          else return { failure: event.failure };
        }
        throw new Error("the build did not end");
      } finally {
        await received.source.discard();
      }
    },

    close: async () => {
      for (const service of [...held.keys()]) await release(service, { reason: "deleted", message: "The fake ends." });
      await local.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
};
