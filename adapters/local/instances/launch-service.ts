/** Starts a service, either from a built source with this machine's programs or from a container image. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Environment, withAliases } from "../../../core/domain/deploy/environment.ts";
import { Redactor } from "../../../core/domain/secrets/redact.ts";
import { COMPILE_CACHE } from "../builds/build-node.ts";
import type { UnpackedImage } from "../builds/image-store.ts";
import { APP, programBinds } from "../builds/run-command.ts";
import { execLast } from "../sandbox/exec-last.ts";
import type { InstanceMounts } from "../sandbox/mounts.ts";
import type { Bind, Limits, OnOutput, Running } from "../sandbox/runner.ts";
import { withoutScope } from "../sandbox/scope.ts";
import type { SecretValues } from "../secrets/resolve-secrets.ts";
import { removeTree } from "../tenant-files/remove-tree.ts";
import type { BusySocket } from "./busy-socket.ts";
import { Instance, type InstanceDeps, type InstanceSpec } from "./instance.ts";
import { noteInstance } from "./instance-notes.ts";
import { lastLinesIn } from "./read-lines.ts";

const TAIL = 20;
const PROCESSES = 1024;

interface Launch {
  readonly deps: InstanceDeps;
  readonly spec: InstanceSpec;
  /** The declared variables, with the values of secrets. */
  readonly env: Environment;
  /** The id of the job, which contains the id of the instance. */
  readonly job: string;
  readonly port: number;
  readonly mounts: InstanceMounts;
  readonly busySocket: BusySocket | undefined;
  readonly onOutput: OnOutput;
}

/** The path of the busy socket in a sandbox or container. */
const BUSY_SOCKET = "/run/portside/busy.sock";

const busySocketBinds = ({ busySocket }: Launch): Bind[] =>
  busySocket === undefined ? [] : [{ host: busySocket.path, inside: BUSY_SOCKET, writable: false }];

const nodeOptions = ({ deps, env, spec: { template } }: Launch, image: UnpackedImage): Record<string, string> => {
  if (!deps.tellsNodeItsMemory || image.kind !== "node") return {};
  const own = env["NODE_OPTIONS"] ?? "";
  if (own.includes("max-old-space-size")) return {};
  const mebibytes = Math.floor((template.memory * 0.75) / 1024 ** 2);
  return { NODE_OPTIONS: `${own} --max-old-space-size=${mebibytes}`.trim() };
};

/** Returns the variables that the platform sets for every service, regardless of the runner. */
const platformVariables = (
  { spec: { template, revision }, mounts, busySocket }: Launch,
  port: number,
  mapsPaths: boolean,
): Readonly<Record<string, string>> =>
  withAliases(
    {
      CRON_TOKEN: template.cronToken,
      PORT: String(port),
      K_SERVICE: template.name,
      K_REVISION: revision,
      ...mounts.env,
      ...(busySocket === undefined ? {} : { PORTSIDE_BUSY_SOCKET: mapsPaths ? BUSY_SOCKET : busySocket.path }),
    },
    template.envAliases,
  );

const unpackedEnvironment = (
  launch: Launch,
  image: UnpackedImage,
  app: string,
  home: string,
): Record<string, string> => {
  const { deps, env, port } = launch;
  const path = [join(app, "node_modules", ".bin"), ...image.path, join(deps.toolchain.node, "..")];
  return {
    PATH: [...path, "/usr/local/bin", "/usr/bin", "/bin"].join(":"),
    HOME: home,
    TMPDIR: home,
    LANG: "C.UTF-8",
    ...(image.kind === "node" ? { NODE_ENV: "production" } : {}),
    ...(image.compiled === true ? { NODE_COMPILE_CACHE: join(app, COMPILE_CACHE) } : {}),
    PYTHONUNBUFFERED: "1",
    ...env,
    ...nodeOptions(launch, image),
    ...platformVariables(launch, port, deps.runner.mapsPaths),
  };
};

const removeHome = (deps: InstanceDeps, home: string): Promise<void> =>
  removeTree(home).catch((cause: unknown) =>
    deps.logger.warn("could not remove the home folder of an instance", { home, cause }),
  );

const limitsOf = ({ spec: { template } }: Launch): Limits => ({
  memory: template.memory,
  cpu: template.cpu,
  processes: PROCESSES,
});

const launchUnpacked = (launch: Launch, image: UnpackedImage): Running => {
  const { deps, spec, job, port, mounts, onOutput } = launch;
  const sandboxed = deps.runner.mapsPaths;
  const app = sandboxed ? APP : image.app;
  const home = sandboxed ? "/tmp" : join(deps.runDir, withoutScope(job));
  if (!sandboxed) mkdirSync(home, { mode: 0o700 });
  const user = deps.userOf(spec.template.owner);
  const running = deps.runner.start(
    {
      id: job,
      owner: spec.template.owner,
      ...(user === undefined ? {} : { user }),
      argv: ["sh", "-c", execLast(image.command)],
      cwd: app,
      env: unpackedEnvironment(launch, image, app, home),
      // Mount the build output last. Otherwise the sandbox would create mount points for programs inside it, where
      // symbolic links could redirect the mounts.
      binds: [
        ...programBinds([deps.toolchain.node, ...image.needs]),
        { host: image.app, inside: app, writable: false },
        ...(sandboxed ? busySocketBinds(launch) : []),
      ],
      folders: mounts.binds,
      limits: limitsOf(launch),
      port,
      names: deps.namesFor(spec.template.owner),
    },
    onOutput,
  );
  if (!sandboxed) void running.exited.then(() => removeHome(deps, home));
  return running;
};

const launchImage = (launch: Launch, image: string): Running => {
  const { deps, spec, env, job, port, mounts, onOutput } = launch;
  const { template, revision } = spec;
  if (typeof deps.containers === "string") throw new Error(deps.containers);
  return deps.containers.startImage(
    {
      id: job,
      owner: template.owner,
      image,
      env: { ...env, ...platformVariables(launch, template.port, true) },
      binds: busySocketBinds(launch),
      folders: mounts.binds,
      limits: limitsOf(launch),
      port: { inside: template.port, host: port },
      labels: { "portside.service": template.name, "portside.revision": revision },
    },
    onOutput,
  );
};

export interface LaunchResources {
  /** The id of the instance. */
  readonly id: string;
  /** A free port of this machine; unused by sandboxes with a separate network. */
  readonly hostPort: number;
  readonly mounts: InstanceMounts;
  /** The values of the template's secrets, by the name of their variable. */
  readonly secrets: SecretValues;
  /** Closed when the instance has ended. If the launch fails, the caller must close it. */
  readonly busySocket: BusySocket | undefined;
}

export const launchService = (
  deps: InstanceDeps,
  spec: InstanceSpec,
  { id, hostPort, mounts, secrets, busySocket }: LaunchResources,
): Instance => {
  const { template, image, revision } = spec;
  const port = image.kind !== "container" && deps.runner.ownNetwork ? template.port : hostPort;
  const job = `${deps.mark}.${id}`;
  const tail: string[] = [];
  const { owner, name: service } = template;
  const onOutput: OnOutput = (stream, lines, at) => {
    tail.push(...lastLinesIn(lines, TAIL));
    tail.splice(0, tail.length - TAIL);
    return deps.logOutput({ owner, service, revision, instance: id, logName: stream, lines }, at);
  };
  const env = { ...template.env, ...secrets };
  const launch = { deps, spec, env, job, port, mounts, busySocket, onOutput };
  // Write the note before the start, because `portside shell` does not find an instance without a note.
  const forget = noteInstance(deps.runDir, { service: template.name, job }, deps.logger);
  let running: Running;
  try {
    running = image.kind === "container" ? launchImage(launch, image.id) : launchUnpacked(launch, image);
  } catch (error) {
    forget();
    throw error;
  }
  void running.exited.then(forget);
  const metered = deps.meter?.(template);
  void running.exited.then(() => metered?.end());
  void running.exited.then(() => mounts.removeLinks());
  const closed = running.exited.then(() => busySocket?.close());
  closed.catch((cause: unknown) => deps.logger.warn("could not remove the busy socket of an instance", { id, cause }));
  const redactor = new Redactor(Object.values(secrets));
  return new Instance(deps, running, port, { tail, redactor, metered, busySocket });
};
