/** Instances of a service on a given runner, without a platform around them. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findToolchain } from "../../../adapters/local/builds/toolchain.ts";
import type { InstanceDeps, InstanceSpec } from "../../../adapters/local/instances/instance.ts";
import { startInstance } from "../../../adapters/local/instances/start-instance.ts";
import { entriesIn } from "../../../adapters/local/logs/service-output.ts";
import { randomIds } from "../../../adapters/shared/runtime/system.ts";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { ServiceTemplate } from "../../../core/domain/deploy/service-template.ts";
import type { NewLogEntry } from "../../../core/domain/logs/entry.ts";
import type { Instant } from "../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import { ok } from "../../../core/result.ts";
import type { Bench } from "../sandbox/jobs.ts";

const template: ServiceTemplate = {
  name: "app" as DeploymentName,
  owner: "acme" as AccountId,
  port: 8080,
  memory: 256 * 1024 ** 2,
  cpu: 1,
  timeout: 10,
  concurrency: 10,
  maxInstances: 1,
  sessionAffinity: false,
  useHttp2: false,
  mounts: [],
  schedule: null,
  cronToken: "token",
  env: {},
  image: "local://test",
  deployId: "test",
};

export interface Instances {
  /** The entries that the instances logged. */
  readonly entries: NewLogEntry[];
  /** The messages that the platform logged about the instances. */
  readonly complaints: string[];
  /** The messages of the last start. */
  readonly messages: string[];
  readonly runDir: string;
  start(
    server: string,
    more?: {
      template?: Partial<ServiceTemplate>;
      command?: string;
      listenMillis?: number;
      signal?: AbortSignal;
      verifies?: boolean;
    },
  ): ReturnType<typeof startInstance>;
}

/** @param change overrides of the real engine's dependencies */
export const createInstances = (bench: Bench, change: Partial<InstanceDeps> = {}): Instances => {
  const entries: NewLogEntry[] = [];
  const complaints: string[] = [];
  const messages: string[] = [];
  const complain = (message: string) => void complaints.push(message);
  const runDir = join(bench.folder, "run");
  mkdirSync(runDir);
  const deps: InstanceDeps = {
    runner: bench.runner,
    containers: "not used by these tests",
    namesFor: () => [],
    tellsNodeItsMemory: false,
    toolchain: findToolchain(join(bench.folder, "tools"), process.env),
    userOf: () => undefined,
    secrets: { resolve: () => ok({}) },
    runDir,
    cacheDir: join(bench.folder, "cache"),
    volumes: { under: bench.folder, folderOf: (bucket) => join(bench.folder, bucket) },
    mark: bench.scope,
    ids: randomIds,
    log: (entry) => void entries.push(entry) as undefined,
    logOutput: (output) => void entries.push(...entriesIn(output, 0n as Instant).map(([entry]) => entry)) as undefined,
    logger: { debug: complain, info: complain, warn: complain, error: complain },
    graceMillis: 500,
    elsewhereMillis: 500,
    ...change,
  };
  let sources = 0;
  return {
    entries,
    complaints,
    messages,
    runDir,
    start: (server, more = {}) => {
      const { template: changed = {}, command = "exec node server.js" } = more;
      const { listenMillis = 30_000, signal = new AbortController().signal, verifies = false } = more;
      const app = join(bench.folder, `app${++sources}`);
      mkdirSync(app);
      writeFileSync(join(app, "server.js"), server);
      messages.length = 0;
      const spec: InstanceSpec = {
        template: { ...template, ...changed },
        revision: "app-00001",
        image: { reference: "local://test", app, kind: "node", command, path: [], needs: [], requires: [] },
      };
      return startInstance(deps, spec, {
        listenMillis,
        signal,
        verifies,
        say: (message) => void messages.push(message),
      });
    },
  };
};
