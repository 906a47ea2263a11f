/** The use cases that start, follow and cancel deploys. `run-deploy.ts` runs the phases of a deploy. */
import type { DeployEvent } from "../../domain/deploy/events.ts";
import { cancelFields, resumeFields } from "../../domain/wire/requests.ts";
import { type ControlPlaneError, conflict, type Forbidden, forbidden, type NotFound, notFound } from "../../errors.ts";
import type { Source } from "../../ports/source-spool.ts";
import type { CallOptions } from "../../ports/system.ts";
import { err, ok, type Result, type ResultAsync, safeTry } from "../../result.ts";
import { catchBugs } from "../pipeline/catch-bugs.ts";
import { type Call, parsedUseCase, useCase } from "../pipeline/use-case.ts";
import { discardSource, locateSource } from "./fetch-source.ts";
import { type DeployRequest, preparePlan, queueProblem, readDeclaration } from "./plan.ts";
import { runDeploy } from "./run-deploy.ts";
import type { DeployRun, RunningDeploy } from "./running-deploy.ts";

const start = (call: Call<DeployRequest>, received: Source | undefined) =>
  safeTry(async function* () {
    const { context, principal } = call;
    const declaration = yield* readDeclaration(context, call.input);
    const { name } = declaration;
    const plan = yield* await preparePlan(call, declaration);
    const full = queueProblem(context, context.deploys.names, name);
    if (full !== undefined) return err(full);
    const located = yield* await locateSource(call, declaration, received);
    const first = plan.action === "create" ? plan.spec : undefined;
    const run = context.deploys.begin({ deployId: context.ports.ids.id(), owner: principal.account, name, first });
    void runDeploy({ ...context, run, principal, declaration, located }).then(() => run.settle());
    return ok<DeployRun>(run);
  });

/** Starts a deploy. Fails only before the stream begins; later failures are records of the stream. */
export const deploy = parsedUseCase({
  run: async (call: Call<DeployRequest>) => {
    const { archive } = call.input;
    const received = archive?.kind === "accepted" ? archive.source : undefined;
    const started = await catchBugs(() => start(call, received));
    // Without a running deploy, no other code discards the source.
    if (started.isErr()) await discardSource(call.context, received);
    return started;
  },
});

const ownDeploy = ({
  context,
  principal,
  input: { deploy_id: deployId },
}: Call<{ readonly deploy_id: string }>): Result<RunningDeploy, NotFound | Forbidden> => {
  const run = context.deploys.find(deployId);
  if (run === undefined)
    return err(
      notFound(
        `The deploy '${deployId}' is not running on this server and did not end recently. A deploy can be followed and cancelled only on the server that runs it. Run 'portside deploys' (GET /v1/deploys) to see how it ended.`,
      ),
    );
  return run.owner === principal.account ? ok(run) : err(forbidden("The deploy belongs to another account."));
};

/** Returns a deploy, and the `seq` of the last record that the client has. */
export const resumeDeploy = useCase({
  fields: resumeFields,
  authorize: ownDeploy,
  run: ({ input: { after } }, run): Result<{ run: DeployRun; after: number }, never> => ok({ run, after }),
});

/** Yields a deploy's records. If `resume` fails, yields only the error. */
export async function* followDeploy(
  resume: (options: CallOptions) => ResultAsync<{ run: DeployRun; after: number }, ControlPlaneError>,
  options: CallOptions,
): AsyncGenerator<Result<DeployEvent, ControlPlaneError>> {
  const found = await resume(options);
  if (found.isErr()) return yield err(found.error);
  const { run, after } = found.value;
  for await (const record of run.follow(after, options.signal)) yield ok(record);
}

/**
 * Cancels a deploy. Fails with `conflict` if the deploy ends in a different way, for example because traffic has
 * already moved.
 */
export const cancelDeploy = useCase({
  fields: cancelFields,
  authorize: ownDeploy,
  run: async (_call, run) => {
    run.end("interrupted");
    await run.settled;
    // A settled deploy has a last record.
    const last = run.lastRecord as DeployEvent;
    return last.status === "ERROR" && last.reason === "interrupted"
      ? ok({ detail: `The deploy of '${run.name}' was cancelled.` })
      : err(conflict(`The deploy of '${run.name}' has already ended with ${last.status}.`));
  },
});
