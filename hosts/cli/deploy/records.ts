/** Follows the records of a deploy across broken connections. */
import { setTimeout as sleep } from "node:timers/promises";
import type { DeployEvent } from "../../../core/domain/deploy/events.ts";
import { isFinal } from "../../../core/domain/deploy/final-status.ts";
import { ApiError, type Client, jsonLines } from "../client.ts";
import { CommandError } from "../terminal/io.ts";

const RECONNECTS = 5;

const connectionLost = (last: DeployEvent | undefined, name: string | undefined): CommandError => {
  const phase = last?.status === "DEPLOYING" ? "rollout" : "build";
  const list = name === undefined ? "portside deploys" : `portside deploys ${name}`;
  return new CommandError(`Lost the connection during the ${phase}. Run '${list}' to see how it ended.`);
};

/**
 * Yields a deploy's records. If the connection breaks, reconnects and continues after the last record received.
 * @param name the name of the deployment, if it is known
 */
export async function* deployRecords(
  client: Client,
  first: Response,
  signal: AbortSignal,
  name?: string,
): AsyncGenerator<DeployEvent> {
  let last: DeployEvent | undefined;
  for (let tries = 0; ; tries++) {
    try {
      const path = `/v1/deploy/${last?.deploy_id}?after=${last?.seq}`;
      const response = last === undefined ? first : await client.expectOk(path, { signal });
      for await (const record of jsonLines<DeployEvent>(response)) {
        last = record;
        yield record;
        if (isFinal(record.status)) return;
      }
    } catch (error) {
      if (signal.aborted) throw error;
      // A restarted server has no records of the deploy.
      if (error instanceof ApiError && error.status !== 503) break;
    }
    if (last === undefined || tries === RECONNECTS) break;
    await sleep(500 * (tries + 1), undefined, { signal });
  }
  throw connectionLost(last, name);
}
