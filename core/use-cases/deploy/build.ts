/** The build phase: turns the source into an image and streams the output of the build. */
import { BuildOutput, cleanLine, withoutControls } from "../../domain/deploy/build-output.ts";
import { building } from "../../domain/deploy/events.ts";
import type { BuildEvent } from "../../ports/image-builder.ts";
import type { Source } from "../../ports/source-spool.ts";
import { err, ok } from "../../result.ts";
import { awaitFinalEvent } from "./await-final-event.ts";
import { type DeployContext, endedEarly, failureOf, formatDuration, type PhaseResult } from "./phase.ts";

/** Builds the source. Returns the reference of the image. */
export const build = async (
  { ports, settings: { deployLimits: limits }, run }: DeployContext,
  source: Source,
): Promise<PhaseResult<string>> => {
  const output = new BuildOutput(limits);
  const { owner, name, deployId } = run;
  const { end, timedOut } = await awaitFinalEvent<BuildEvent>(
    (signal) => ports.provider.builder.build({ owner, name, deployId, source }, { signal }),
    { clock: ports.clock, signal: run.signal, deadline: limits.buildDeadlineMs },
    (message) => {
      const line = output.take(message);
      if (line !== undefined) run.emit(building(line));
    },
  );
  for (const line of output.end()) run.emit(building(line));
  if (end?.kind === "built") return run.signal.aborted ? err(endedEarly(run)) : ok(end.image);
  const message = `The build took longer than ${formatDuration(limits.buildDeadlineMs)} and was stopped. Make it faster, or ask the operator to raise the deadline.`;
  const failure = failureOf({ end, timedOut }, run, { reason: "build_timeout", message }, output.tail);
  return err({
    ...failure,
    message: withoutControls(failure.message),
    ...(failure.logTail === undefined ? {} : { logTail: failure.logTail.map((line) => cleanLine(line, limits)) }),
  });
};
