/** Checks this machine for the local provider. Reports missing features and how to install them. */
import { X509Certificate } from "node:crypto";
import { accessSync, constants, mkdtempSync, rmSync, statfsSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GiB } from "../../core/domain/accounts/limits.ts";
import { type Finding, fail, pass, warn } from "../../core/domain/wire/check.ts";
import { describeListenError, listenAt } from "../shared/runtime/loopback.ts";
import { installCommand } from "../shared/runtime/optional-package.ts";
import { sqlPackages, sqlQueries } from "../shared/sql/process/installed.ts";
import { silent } from "./accounts/identity.ts";
import { findToolchain, type Toolchain } from "./builds/toolchain.ts";
import type { LocalConfig } from "./config.ts";
import { nearestExisting } from "./data-folder/data-folder-error.ts";
import { quarantineOf } from "./data-folder/repair.ts";
import {
  addressProblem,
  hasApiCertificate,
  type Interfaces,
  localTarget,
  missingApiName,
  tlsPortProblem,
} from "./domains/settings.ts";
import { readDomain } from "./ingress/domain.ts";
import { chooseRunner, type RunnerChoice } from "./sandbox/choose-runner.ts";
import { uidRangeProblem } from "./sandbox/users/account-users.ts";
import { readUidRange, type UidRange } from "./sandbox/users/uid-range.ts";
import { inspectDataFolder, STATE_FILE } from "./state/inspect.ts";
import { judgeState } from "./state/judge-state.ts";
import { readCertificateFiles } from "./tls/certificate-files.ts";

export interface Examined extends LocalConfig {
  readonly runner: RunnerChoice;
}

const isWritable = (folder: string): boolean => {
  try {
    accessSync(folder, constants.W_OK);
    return statSync(folder).isDirectory();
  } catch {
    return false;
  }
};

/**
 * The check warns if the free space is below this value, because images, logs and volumes grow, and a single build may
 * unpack 2 GiB.
 */
const ROOMY = 5 * GiB;

const dataFolder = (dataDir: string): Finding => {
  const what = `data folder ${dataDir}`;
  const folder = nearestExisting(dataDir);
  if (!isWritable(folder)) return fail(what, `${folder} is not a writable folder`, "portside serve --data-dir DIR");
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  const message = `${(free / GiB).toFixed(1)} GiB free`;
  return free < ROOMY ? warn(what, `only ${message}`) : pass(what, message);
};

const state = (dataDir: string): Finding => {
  const repair = `portside doctor --repair --data-dir ${dataDir}`;
  try {
    const verdict = judgeState(inspectDataFolder(dataDir));
    if (verdict.kind === "refused") return fail("state", `${join(dataDir, STATE_FILE)} ${verdict.problem}`, repair);
    return pass("state", verdict.kind === "fresh" ? "not created yet" : "intact and up to date");
  } catch (error) {
    return fail("state", (error as Error).message, repair);
  }
};

const quarantine = async (dataDir: string): Promise<Finding> => {
  const { entries, bytes } = await quarantineOf(dataDir).size();
  if (entries === 0) return pass("quarantine", "empty");
  const message = `${entries} unknown volume ${entries === 1 ? "folder" : "folders"} with ${bytes} bytes`;
  return warn("quarantine", message, `portside doctor --repair --data-dir ${dataDir}`);
};

const users = (separate: true | string, range: UidRange): Finding => {
  if (separate !== true) return warn("users", `the services of all accounts run as one user: ${separate}`);
  const problem = uidRangeProblem(range);
  if (problem !== undefined) return fail("users", problem);
  return pass("users", `each account has a separate user (uid) from ${range.from}-${range.to}`);
};

const network = (networks: Awaited<ReturnType<typeof chooseRunner>>["networks"]): Finding =>
  typeof networks === "object"
    ? pass("network", "each service has a separate network")
    : warn(
        "network",
        `${networks}; services can call every port of this machine, and can listen on the same ports as this user`,
        "apt-get install passt iproute2",
      );

async function* running(
  { runner: choice, uidRange: range }: Examined,
  folder: string,
  environment: NodeJS.ProcessEnv,
): AsyncGenerator<Finding> {
  const uidRange = readUidRange(range) as UidRange;
  let chosen: Awaited<ReturnType<typeof chooseRunner>>;
  try {
    const scopes = { scope: "doctor", imageScope: "doctor" };
    chosen = await chooseRunner(choice, { ...scopes, folder, uidRange, environment, logger: silent, allowedPorts: [] });
  } catch (error) {
    const what = choice === "container" ? "docker.io" : "bubblewrap";
    yield fail("runner", (error as Error).message, `apt-get install ${what}`);
    return;
  }
  const { runner, limits, containers, networks, reason } = chosen;
  yield typeof containers === "string"
    ? warn("containers", `${containers}; sources with a Dockerfile cannot be built`, "apt-get install docker.io")
    : pass("containers", `${containers.engine.name} ${containers.engine.version}: builds and runs Dockerfiles`);
  yield runner.kind === "container"
    ? pass("runner", "containers: services do not see each other's files, processes or networks")
    : runner.kind === "bubblewrap"
      ? pass("runner", "bubblewrap: services do not see each other's files or processes")
      : warn(
          "runner",
          `plain processes: services are not isolated${reason === undefined ? "" : `; ${reason}`}`,
          reason === undefined ? undefined : "apt-get install bubblewrap",
        );
  if (runner.gaps !== undefined)
    yield runner.gaps.length === 0
      ? pass("sandbox", "user namespaces are disabled, and system calls are filtered")
      : warn("sandbox", runner.gaps.join("; "));
  if (runner.kind === "bubblewrap") yield users(runner.setsUser, uidRange);
  if (runner.kind === "bubblewrap") yield network(networks);
  yield limits === "cgroup"
    ? pass("limits", "control groups limit memory, CPU and processes")
    : warn(
        "limits",
        "memory is polled every 100 ms, and CPUs are shared evenly; control groups need root or a delegated group",
      );
  await chosen.close();
}

function* programs({ npm, python }: Toolchain): Generator<Finding> {
  yield npm === undefined
    ? warn("npm", "not found; Node sources with dependencies cannot be built", "apt-get install npm")
    : pass("npm", npm);
  yield python === undefined
    ? warn("python3", "not found; Python sources cannot be built", "apt-get install python3 python3-venv")
    : pass("python3", python);
}

/** Opens the port and closes it again. A port in use passes, because Portside itself may use it. */
const publicPort = async (
  what: string,
  setting: string,
  address: { readonly host: string; readonly setting: string },
  port: number,
): Promise<Finding> => {
  const server = createServer();
  try {
    await listenAt(server, address.host, port);
    return pass(what, `port ${port} can be opened`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EADDRINUSE") return pass(what, `port ${port} is in use; a running Portside may use it`);
    return fail(what, describeListenError(error, { port, purpose: what, setting, address }));
  } finally {
    server.close();
  }
};

/** How long before a certificate expires the check warns, in milliseconds. */
const EXPIRES_SOON_MS = 14 * 86_400_000;

const RENEW = "Renew the certificate, and replace the files of --tls-cert and --tls-key; the server reloads them";

const operatorCertificate = (examined: Examined, cert: string, key: string): Finding => {
  const what = `certificate ${cert}`;
  try {
    const certificate = readCertificateFiles({ cert, key });
    const first = new X509Certificate(certificate.chain);
    const [begin, end] = [first.validFromDate, first.validToDate].map((date) => date.toISOString().slice(0, 10));
    const left = first.validToDate.getTime() - Date.now();
    if (left <= 0) return fail(what, `expired on ${end}`, RENEW);
    if (first.validFromDate.getTime() > Date.now())
      return fail(
        what,
        `not valid before ${begin}`,
        "Check the clock of this machine, or pass the current certificate",
      );
    const message = `valid until ${end}`;
    const domain = examined.domain === undefined ? undefined : readDomain(examined.domain);
    if (domain !== undefined && domain.proxy === undefined && first.checkHost(`storage.${domain.name}`) === undefined)
      return warn(
        what,
        `${message}; it does not contain *.${domain.name}, so browsers reject the URLs of deployments`,
        `Add *.${domain.name} to the names of the certificate`,
      );
    const missing = missingApiName(examined, hasApiCertificate(examined, domain, certificate));
    if (missing !== undefined)
      return warn(
        what,
        `${message}; it does not contain ${missing}, so the TLS port does not serve the API and the console`,
        `Add ${missing} to the names of the certificate`,
      );
    return left < EXPIRES_SOON_MS ? warn(what, message, RENEW) : pass(what, message);
  } catch (error) {
    return fail(what, (error as Error).message);
  }
};

/** An authority must reach the machine at the address that the DNS records contain. */
const publicAddress = (examined: Examined, interfaces?: Interfaces): Finding => {
  const { domain } = examined;
  const target = localTarget(examined, domain === undefined ? undefined : readDomain(domain), interfaces);
  const problem = addressProblem(examined, target);
  return problem === undefined
    ? pass("public address", target.addresses.join(", "))
    : fail("public address", problem, "portside serve --public-address ADDRESS");
};

async function* tls(examined: Examined, interfaces?: Interfaces): AsyncGenerator<Finding> {
  const { tlsPort, httpPort, tlsCert, tlsKey, acmeEmail } = examined;
  const address =
    examined.tlsHost === undefined
      ? { host: examined.host, setting: "--host" }
      : { host: examined.tlsHost, setting: "--tls-host" };
  if (acmeEmail !== undefined) yield publicAddress(examined, interfaces);
  if (tlsPort !== undefined) yield await publicPort("HTTPS", "--tls-port", address, tlsPort);
  if (httpPort !== undefined) yield await publicPort("HTTP", "--http-port", address, httpPort);
  const problem = tlsPortProblem(examined);
  if (problem !== undefined) yield fail("certificates", problem);
  if (tlsCert !== undefined && tlsKey !== undefined) yield operatorCertificate(examined, tlsCert, tlsKey);
}

const sql = (): Finding => {
  const queries = sqlQueries();
  if (queries.supported) return pass("SQL", queries.note ?? "offered");
  return warn("SQL", queries.reason, installCommand(sqlPackages));
};

/** @param environment the server's environment, which locates programs (`PATH`) */
export async function* diagnoseLocal(
  examined: Examined,
  environment: NodeJS.ProcessEnv,
  interfaces?: Interfaces,
): AsyncGenerator<Finding> {
  yield pass("Node", process.version);
  yield dataFolder(examined.dataDir);
  yield state(examined.dataDir);
  yield await quarantine(examined.dataDir);
  yield* tls(examined, interfaces);
  const folder = mkdtempSync(join(tmpdir(), "portside-doctor-"));
  try {
    yield* running(examined, join(folder, "sandbox"), environment);
    yield* programs(findToolchain(join(folder, "tools"), environment));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  yield sql();
}
