/** The use case that returns a single deployment with its instances, its last deploy and its schedule. */
import { brokenReasonOf, type Deployment, deploymentOf, firstDeploymentOf } from "../../domain/deploy/deployment.ts";
import {
  type DeploymentDetails,
  type DeployReport,
  deploymentDetailsOf,
  noReport,
  reportOfEntry,
  reportOfReason,
  reportOfRecord,
} from "../../domain/deploy/deployment-details.ts";
import type { InstanceStatus } from "../../domain/deploy/instance-status.ts";
import type { Service } from "../../domain/deploy/service-template.ts";
import { hostProblem } from "../../domain/domains/certificate.ts";
import { before } from "../../domain/logs/cursor.ts";
import { parseLogFilter } from "../../domain/logs/filter/parse.ts";
import { type Instant, parseInstant, plusMillis, timestampOf } from "../../domain/wire/instant.ts";
import type { DeploymentName } from "../../domain/wire/names.ts";
import { getDeploymentFields } from "../../domain/wire/requests.ts";
import { type ControlPlaneError, internal, notFound } from "../../errors.ts";
import { err, errAsync, ok, okAsync, type Result, type ResultAsync, safeTry } from "../../result.ts";
import { type Caller, useCase } from "../pipeline/use-case.ts";
import { findName } from "./find-name.ts";
import { findReleases } from "./releases/find-releases.ts";
import type { RunningDeploy } from "./running-deploy.ts";

/** How far the clock of a store may be behind the clock of this process, in milliseconds. */
const CLOCK_SKEW_MS = 60_000;

/** The timeout of the search for the last deploy's entry. Without the entry, the message describes the reason. */
const REPORT_TIMEOUT_MS = 2000;

type LastDeployOf = [service: DeploymentName, last: NonNullable<Deployment["last_deploy"]>];

/** The longest time, in milliseconds, until a log entry becomes visible. */
const LATEST_ENTRY_MS = 60 * 60_000;

/**
 * Searches the log for the last record of a deploy that has ended. The log may be unavailable, or the record may have
 * expired.
 */
const searchReport = async (
  { context, principal, options }: Caller,
  ...[service, { deploy_id, finished_at, reason }]: LastDeployOf
): Promise<{ readonly report: DeployReport; readonly isFinal: boolean }> => {
  const endedAt = finished_at === null ? undefined : parseInstant(finished_at);
  const filter = parseLogFilter(
    `logName="platform" AND jsonPayload.event="deploy" AND jsonPayload.status=("DONE" OR "ERROR") AND jsonPayload.deploy_id=${JSON.stringify(deploy_id)}`,
    context.ports.compilePattern,
  );
  if (endedAt === undefined || filter.isErr()) return { report: noReport, isFinal: false };
  const query = { filter: filter.value, limit: 1, timeoutMs: REPORT_TIMEOUT_MS };
  const since = before(plusMillis(endedAt, -CLOCK_SKEW_MS));
  const found = await context.ports.provider.logs.after({ owner: principal.account, service }, since, query, options);
  // For a success, `reportOfReason` states that the log lacks the record. Only a complete search can tell.
  const unread = reason === null ? noReport : reportOfReason(reason);
  if (found.isErr()) return { report: unread, isFinal: false };
  const [entry] = found.value.entries;
  if (entry !== undefined) return { report: reportOfEntry(entry), isFinal: true };
  const hasExpired = plusMillis(endedAt, LATEST_ENTRY_MS) < context.ports.clock.now();
  if (found.value.partial) return { report: unread, isFinal: false };
  return { report: reportOfReason(reason), isFinal: hasExpired };
};

/** Searches once for each deploy, because the last record of an ended deploy does not change. */
const readReport = async (caller: Caller, ...[service, last]: LastDeployOf): Promise<DeployReport> => {
  const { reports } = caller.context;
  const key = `${caller.principal.account} ${last.deploy_id}`;
  const known = reports.get(key);
  if (known !== undefined) return known;
  const { report, isFinal } = await searchReport(caller, service, last);
  if (isFinal) reports.set(key, report);
  return report;
};

/** Returns the report of the last deploy, from its last record. */
const lastReport = async (caller: Caller, name: DeploymentName, { last_deploy }: Deployment): Promise<DeployReport> => {
  if (last_deploy === null) return noReport;
  const record = caller.context.deploys.find(last_deploy.deploy_id)?.lastRecord;
  return record === undefined ? readReport(caller, name, last_deploy) : reportOfRecord(record);
};

/** For `orElse`: replaces an unavailable part of the response with null, and logs the problem. */
const nullIfUnavailable =
  ({ context }: Caller, { name }: Service, problem: string) =>
  (error: ControlPlaneError): Result<null, ControlPlaneError> => {
    if (error.kind !== "unavailable") return err(error);
    context.ports.logger.warn(problem, { name, cause: error.cause });
    return ok(null);
  };

const servingRelease = (caller: Caller, service: Service): ResultAsync<number | null, ControlPlaneError> => {
  if (!caller.context.ports.provider.capabilities.releases.supported) return okAsync(null);
  const serving = service.serving[0]?.id;
  // The newest release is that of the serving revision.
  return findReleases(caller, service, 1)
    .map((releases) => releases.find(({ revision }) => revision === serving)?.release ?? null)
    .orElse(nullIfUnavailable(caller, service, "the releases of a deployment could not be read"));
};

const findInstances = (
  caller: Caller,
  service: Service,
): ResultAsync<readonly InstanceStatus[] | null, ControlPlaneError> => {
  const { context, options } = caller;
  const { name, owner } = service;
  const { capabilities, services } = context.ports.provider;
  if (!capabilities.instance_list.supported) return okAsync(null);
  const listed: ResultAsync<readonly InstanceStatus[] | null, ControlPlaneError> =
    services.instances?.({ name, owner }, options) ??
    errAsync(internal("The provider declares the capability `instance_list`, but has no method `instances`."));
  return listed.orElse(nullIfUnavailable(caller, service, "the instances of a deployment could not be listed"));
};

/** Returns why the platform could not obtain or renew the certificate of the deployment's host, if it orders one. */
const findCertificateProblem = (
  { context }: Caller,
  { url, owner }: Service,
  now: Instant,
): ResultAsync<string | undefined, ControlPlaneError> => {
  const certificates = context.ports.provider.domains?.certificates;
  if (certificates === undefined) return okAsync(undefined);
  const { store, authorities } = certificates;
  return store.hosts().andThen((hosts) => {
    const wanted = hosts.find(({ host, account }) => host === URL.parse(url)?.hostname && account === owner);
    if (wanted === undefined) return okAsync(undefined);
    const names = authorities.map(({ name }) => name);
    return store.find(wanted.host).map((certificate) => hostProblem(certificate, names, now));
  });
};

const detailsOfService = (caller: Caller, service: Service, now: Instant) =>
  safeTry<DeploymentDetails, ControlPlaneError>(async function* () {
    const row = deploymentOf(service);
    const release = yield* await servingRelease(caller, service);
    const instances = yield* await findInstances(caller, service);
    const problem = yield* await findCertificateProblem(caller, service, now).orElse(
      nullIfUnavailable(caller, service, "the certificate of a deployment could not be read"),
    );
    const certificateProblem = problem ?? undefined;
    const broken = brokenReasonOf(service);
    const report = broken === undefined ? await lastReport(caller, service.name, row) : reportOfReason(broken);
    return ok(deploymentDetailsOf(row, { release, instances, lastReport: report, certificateProblem }, now));
  });

/** The platform does not know a deployment during its first build. */
const detailsOfFirstDeploy = async (caller: Caller, run: RunningDeploy, now: Instant): Promise<DeploymentDetails> => {
  const { region, instance_list } = caller.context.ports.provider.capabilities;
  // `firstDeploys` returns only deploys that create a service.
  const spec = run.first as NonNullable<RunningDeploy["first"]>;
  const row = firstDeploymentOf({ spec, deployId: run.deployId, region, beganAt: timestampOf(run.beganAt) });
  const instances = instance_list.supported ? [] : null;
  return deploymentDetailsOf(
    row,
    { release: null, instances, lastReport: await lastReport(caller, run.name, row) },
    now,
  );
};

/** Returns a single deployment. */
export const getDeployment = useCase({
  fields: getDeploymentFields,
  authorize: (call) => findName(call, call.input.name),
  run: async (call, state) => {
    const { context, principal, input } = call;
    const now = context.ports.clock.now();
    if (state.kind === "held") return detailsOfService(call, state.service, now);
    const first = context.deploys.firstDeploys(principal.account).find(({ name }) => name === input.name);
    return first === undefined
      ? err(notFound(`The deployment '${input.name}' does not exist.`))
      : ok(await detailsOfFirstDeploy(call, first, now));
  },
});
