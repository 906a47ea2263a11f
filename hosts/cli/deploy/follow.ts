/** Prints plans, and the records of deploys and redeploys. */
import type { PlanResponse } from "../../../core/control-plane.ts";
import type { DeployEvent } from "../../../core/domain/deploy/events.ts";
import { PortsideError } from "../../client/errors.ts";
import { CommandError, INTERRUPTED, type Io, print, printJson, say } from "../terminal/io.ts";
import { planLines } from "./plan.ts";
import { recordPrinter, Spinner } from "./progress.ts";

/** Prints a plan. Returns the exit code. */
export const showPlan = (io: Io, plan: PlanResponse, json: boolean): number => {
  if (json) printJson(io, plan);
  else for (const line of planLines(plan)) print(io, line);
  return 0;
};

const connectionLost = (last: DeployEvent | undefined, name: string | undefined): CommandError => {
  const phase = last?.status === "DEPLOYING" ? "rollout" : "build";
  const list = name === undefined ? "portside deploys" : `portside deploys ${name}`;
  return new CommandError(`Lost the connection during the ${phase}. Run '${list}' to see how it ended.`);
};

/**
 * Prints the records of a deploy or redeploy as they arrive. Resolves to the exit code.
 * @param name the name of the deployment, if it is known
 */
export const followRecords = async (
  io: Io,
  records: AsyncIterable<DeployEvent>,
  json: boolean,
  name?: string,
): Promise<number> => {
  const spinner = new Spinner(io);
  const printRecord = recordPrinter(io);
  let final: DeployEvent | undefined;
  try {
    for await (const record of records) {
      spinner.begin(record.message);
      if (json) printJson(io, record);
      else printRecord(record);
      final = record;
    }
  } catch (error) {
    if (error instanceof PortsideError && error.code === "stream_lost") throw connectionLost(final, name);
    if (!io.signal.aborted || final === undefined) throw error;
    const id = final.deploy_id;
    spinner.clear();
    say(io, `Detached. Deploy ${id} continues; follow it with 'portside attach ${id}'.`);
    return INTERRUPTED;
  } finally {
    spinner.end();
  }
  if (final?.status !== "DONE") return 1;
  if (!json) print(io, `\n${final.url}`);
  return 0;
};
