/** Deletes the resources that runs created, and lists those that the platform keeps by contract. */
import { setTimeout as sleep } from "node:timers/promises";
import { freedNameDays } from "../../../core/domain/accounts/limits.ts";
import type { Capabilities } from "../../../core/domain/wire/capabilities.ts";
import type { Client } from "../../client/client.ts";
import { ApiError } from "../../client/errors.ts";
import { retry } from "../../client/storage/retry.ts";
import { CommandError } from "../terminal/io.ts";
import { runOf } from "./names.ts";

export interface FoundResources {
  readonly deployments: readonly string[];
  readonly volumes: readonly string[];
}

const isEmpty = ({ deployments, volumes }: FoundResources): boolean => deployments.length + volumes.length === 0;

/**
 * Finds resources that runs created and did not delete.
 * @param run the run to search for; all runs if undefined
 */
export const findCreated = async (
  client: Client,
  run: string | undefined,
  signal: AbortSignal,
): Promise<FoundResources> => {
  const names = async (read: () => Promise<readonly { readonly name: string }[]>) => {
    const list = await retry(signal, read);
    return list
      .map(({ name }) => name)
      .filter((name) => runOf(name) !== undefined && (run ?? runOf(name)) === runOf(name));
  };
  return {
    deployments: await names(() => client.listDeployments({ signal })),
    volumes: await names(() => client.listVolumes({ signal })),
  };
};

/** Returns why the resource could not be deleted yet; undefined if it was deleted or does not exist. */
const remove = async (request: () => Promise<unknown>, signal: AbortSignal): Promise<string | undefined> => {
  try {
    await retry(signal, request);
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError) || (error.status !== 404 && error.status !== 409)) throw error;
    return error.status === 409 ? error.message : undefined;
  }
};

/** The pause between rounds, because the server may still be processing a request of a killed run. */
const SETTLE_MS = 2000;
/** The maximum number of rounds. One is not enough: a volume stays mounted while its deployment is being deleted. */
const ROUNDS = 10;

export interface RemoveOptions {
  /** The run that created the resources; undefined deletes the resources of all runs. */
  readonly run: string | undefined;
  /** The number of consecutive empty listings that end the deletion: two if requests may still be in flight. */
  readonly emptyListings: number;
}

/** Deletes deployments, then volumes, until none are listed. Returns the names of the deleted resources. */
export const removeCreated = async (
  client: Client,
  { run, emptyListings }: RemoveOptions,
  signal: AbortSignal,
): Promise<FoundResources> => {
  const deployments = new Set<string>();
  const volumes = new Set<string>();
  const problems: (string | undefined)[] = [];
  for (let [empty, round] = [0, 0]; empty < emptyListings; round++) {
    if (round > 0 && (empty > 0 || round > 1)) await sleep(SETTLE_MS, undefined, { signal });
    if (round === ROUNDS)
      throw new CommandError(
        problems.filter((one) => one !== undefined).at(-1) ??
          "New resources of the run keep appearing. Stop the run, and then try again.",
      );
    const found = await findCreated(client, run, signal);
    for (const name of found.deployments) {
      deployments.add(name);
      problems.push(await remove(() => client.deleteDeployment({ name }, { signal }), signal));
    }
    for (const name of found.volumes) {
      volumes.add(name);
      problems.push(await remove(() => client.deleteVolume({ name }, { signal }), signal));
    }
    empty = isEmpty(found) ? empty + 1 : 0;
  }
  return { deployments: [...deployments], volumes: [...volumes] };
};

const keptLog = async (client: Client, name: string, days: number, signal: AbortSignal): Promise<string[]> => {
  const request = { deployment_name: name, limit: 1 };
  try {
    const { logs } = await retry(signal, () => client.readLogs(request, { signal }));
    return logs.length === 0 ? [] : [`the log of '${name}', for ${days} days`];
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return [];
    throw error;
  }
};

/**
 * Lists the resources that the platform keeps by contract: the volume in the trash, the reserved name, and the log.
 */
export const listRetained = async (
  client: Client,
  { names, logs }: Capabilities,
  removed: FoundResources,
  signal: AbortSignal,
): Promise<string[]> => {
  const trash = await retry(signal, () => client.listTrash({ signal }));
  const trashed = trash
    .filter(({ name }) => removed.volumes.includes(name))
    .map(({ name, expires_at }) => `the volume '${name}' in the trash, until ${expires_at.slice(0, 10)}`);
  const reserved = names.remembers_freed.supported
    ? removed.deployments.map((name) => `the name '${name}' for your account, for ${freedNameDays} days`)
    : [];
  const logged: string[] = [];
  for (const name of removed.deployments) logged.push(...(await keptLog(client, name, logs.retention_days, signal)));
  return [...trashed, ...reserved, ...logged];
};
