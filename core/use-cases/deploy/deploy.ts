/**
 * Deploy: check, plan, and then run without the client: build, roll out, narrate.
 *
 * Everything that can be decided before the stream is; from then on every outcome is a record.
 */
import type { Principal } from "../../domain/accounts/account.ts";
import type { DeployDeclaration } from "../../domain/deploy/declaration.ts";
import { building, type DeployNews, type DeployOutcome, done, failed, isFinal } from "../../domain/deploy/events.ts";
import type { DeployFailure } from "../../domain/deploy/reason.ts";
import { deployEntry } from "../../domain/logs/entry.ts";
import { timestampOf } from "../../domain/wire/instant.ts";
import type { DeploymentName } from "../../domain/wire/names.ts";
import { type ControlPlaneError, unavailable } from "../../errors.ts";
import type { Source } from "../../ports/source-spool.ts";
import type { CallOptions } from "../../ports/system.ts";
import { err, ok, type ResultAsync } from "../../result.ts";
import { catchBugs } from "../pipeline/catch-bugs.ts";
import type { Context } from "../pipeline/context.ts";
import { bindVolumes } from "./bind-volumes.ts";
import { build } from "./build.ts";
import { fetchSource, type LocatedSource, locateSource } from "./fetch-source.ts";
import { endedEarly } from "./phase.ts";
import { type DeployRequest, preparePlan, readDeclaration } from "./plan.ts";
import { rollOut } from "./roll-out.ts";
import type { DeployRun, RunningDeploy } from "./running-deploy.ts";
import { setSchedule } from "./set-schedule.ts";

/** An error that comes up once the stream has begun, as the stream says it. */
const failureOfError = (error: ControlPlaneError): DeployFailure => {
  switch (error.kind) {
    case "forbidden":
      return { reason: "name_taken", message: error.message };
    case "invalid_input":
      // What broke a rule by itself was refused before the stream: these go by what the account or the name has become.
      return {
        reason: error.issues.some(({ type }) => type === "quota_exceeded") ? "quota_exceeded" : "superseded",
        message: error.message,
      };
    case "unavailable":
      return { reason: "provider_unavailable", message: error.message };
    default:
      return { reason: "internal", message: "The control plane met a bug of its own." };
  }
};

/** The deploy from its turn to its last record but one; the value is what DONE says. */
const perform = async (
  context: Context,
  run: RunningDeploy,
  principal: Principal,
  declaration: DeployDeclaration,
  given: LocatedSource,
): Promise<{ url: string; revision: string } | DeployFailure> => {
  const { ports, settings, runs } = context;
  const permit = runs.builds.acquire(run.owner);
  let source: Source | undefined;
  if (!permit.granted) run.emit(building("Waiting: your account builds as many sources at once as it may"));
  try {
    await Promise.race([permit.whenGranted, aborted(run.signal)]);
    if (run.signal.aborted) return endedEarly(run);
    const plan = await preparePlan(context, principal, declaration, { signal: run.signal });
    if (run.signal.aborted) return endedEarly(run);
    if (plan.isErr()) {
      const { kind, message } = plan.error;
      if (kind === "internal")
        ports.logger.error("a deploy met a bug", { deployId: run.deployId, bug: message, cause: plan.error.cause });
      return failureOfError(plan.error);
    }
    const fetched = await fetchSource(ports, settings.deployLimits, run, given);
    if (!fetched.ok) return fetched.failure;
    source = fetched.value;
    const built = await build(ports, settings.deployLimits, run, source);
    if (!built.ok) return built.failure;
    permit.release();
    const bound = await bindVolumes(ports, run, plan.value);
    if (!bound.ok) return run.signal.aborted ? endedEarly(run) : bound.failure;
    const image = built.value;
    const rolled = await rollOut(ports, settings, run, plan.value, { image, mounts: bound.value });
    if (!rolled.ok) return rolled.failure;
    const scheduled = await setSchedule(ports, settings.deployLimits, run, plan.value, rolled.value);
    return scheduled.ok ? rolled.value : scheduled.failure;
  } finally {
    permit.release();
    if (given.kind === "object") await discard(context, source);
  }
};

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });

/**
 * Puts how the deploy stands where it outlives the run: the platform's `lastDeploy` and the deployment's log.
 *
 * A kill may come between the two. So it is noted first that a deploy begins, and last that it has ended: what the log
 * tells of it has an end, or a note by which the next server finds that the end is missing.
 */
const remember = async (context: Context, run: RunningDeploy, news: DeployNews): Promise<void> => {
  const { provider, logger, clock } = context.ports;
  const { status, reason } = news;
  const finishedAt = isFinal(status) ? timestampOf(clock.now()) : null;
  const outcome: DeployOutcome = { deployId: run.deployId, status, reason: reason ?? null, finishedAt };
  const note = async () => {
    const noted = await provider.services.noteDeploy({ name: run.name, owner: run.owner }, outcome);
    if (noted.isErr()) logger.warn("the outcome of a deploy was not noted", { deployId: run.deployId });
  };
  const log = async () => {
    const logged = await provider.logs.append([deployEntry(run.owner, run.name, run.deployId, news)]);
    if (logged.isErr()) logger.warn("the outcome of a deploy was not logged", { deployId: run.deployId });
  };
  for (const step of isFinal(status) ? [log, note] : [note, log]) await step();
};

/** Remembered before it is said, so that a client that saw the last record finds it in the list. */
const conclude = async (context: Context, run: RunningDeploy, news: DeployNews): Promise<void> => {
  await remember(context, run, news);
  run.emit(news);
};

/** Where a platform can run it in several ways, the client is told which. */
const servesWords = ({ revision, runner }: { readonly revision: string; readonly runner?: string }): string =>
  `Revision ${revision} serves all traffic${runner === undefined ? "" : ` (${runner})`}`;

const execute = async (
  context: Context,
  run: RunningDeploy,
  principal: Principal,
  declaration: DeployDeclaration,
  given: LocatedSource,
): Promise<void> => {
  const { runs, ports } = context;
  const permit = runs.names.acquire(run.name);
  try {
    run.emit(building(`Deploying as '${run.name}'`));
    if (!permit.granted) run.emit(building(`Waiting for an earlier deploy of '${run.name}'`));
    await Promise.race([permit.whenGranted, aborted(run.signal)]);
    // Not before its turn: a platform remembers one deploy a name, and that is the one that runs.
    if (!run.signal.aborted) await remember(context, run, building("A deploy began"));
    const outcome = run.signal.aborted ? endedEarly(run) : await perform(context, run, principal, declaration, given);
    const served = "url" in outcome ? done(outcome.url, servesWords(outcome)) : undefined;
    await conclude(context, run, served ?? failed(outcome as DeployFailure));
  } catch (cause) {
    ports.logger.error("a deploy met a bug", { deployId: run.deployId, cause });
    const bug = failed({ reason: "internal", message: "The control plane met a bug of its own." });
    await remember(context, run, bug).catch(() => undefined);
    if (run.phase !== "ended") run.emit(bug);
  } finally {
    permit.release();
  }
  if (given.kind === "received") await discard(context, given.source);
};

/** A source that stays is a nuisance for the operator, and none for the client. */
const discard = async ({ ports }: Context, source: Source | undefined): Promise<void> => {
  try {
    await source?.discard();
  } catch (cause) {
    ports.logger.warn("a source was not discarded", { cause });
  }
};

/** Starts a deploy. The result is decided before the stream; the run's records are the rest. */
export const deploy = (
  context: Context,
  principal: Principal,
  request: DeployRequest,
  options: CallOptions = {},
): ResultAsync<DeployRun, ControlPlaneError> => {
  const received = request.archive?.kind === "kept" ? request.archive.source : undefined;
  return catchBugs<DeployRun, ControlPlaneError>(async () => {
    const declaration = readDeclaration(context, request);
    if (declaration.isErr()) return err(declaration.error);
    const plan = await preparePlan(context, principal, declaration.value, options);
    if (plan.isErr()) return err(plan.error);
    const { name } = declaration.value;
    const full = tooManyWaiting(context, name);
    if (full !== undefined) return err(full);
    const source = await locateSource(context, principal, declaration.value, received, options);
    if (source.isErr()) return err(source.error);
    const run = context.runs.begin({
      deployId: context.ports.ids.id(),
      owner: principal.account,
      name,
      first: plan.value.action === "create" ? plan.value.spec : undefined,
    });
    void execute(context, run, principal, declaration.value, source.value).then(() => run.settle());
    return ok(run);
  }).orElse((error) =>
    // Before the refusal is known, so that whoever knows it finds nothing left.
    catchBugs<DeployRun, ControlPlaneError>(async () => {
      await discard(context, received);
      return err(error);
    }),
  );
};

const tooManyWaiting = (context: Context, name: DeploymentName): ControlPlaneError | undefined => {
  const most = context.settings.deployLimits.queuedPerName;
  return context.runs.names.waiting(name) >= most
    ? unavailable(`${most} deploys of '${name}' wait already; try again when they are done.`, 10)
    : undefined;
};
