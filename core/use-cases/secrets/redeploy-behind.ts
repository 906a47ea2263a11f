/** Redeploys the deployments that follow a secret, so that they use the secret's newest version. */
import type { AccountId } from "../../domain/accounts/account.ts";
import { deploymentsToRedeploy, type PendingRedeploys } from "../../domain/secrets/redeploys.ts";
import type { SetSecretResponse } from "../../domain/secrets/secret.ts";
import type { DeploymentName } from "../../domain/wire/names.ts";
import type { ControlPlaneError } from "../../errors.ts";
import type { SecretStore } from "../../ports/secret-store.ts";
import { ok, safeTry } from "../../result.ts";
import { queueRedeploy, type RedeployRecord } from "../deploy/releases/redeploy.ts";
import { servingRelease } from "../deploy/releases/restart.ts";
import type { RunningDeploy } from "../deploy/running-deploy.ts";
import type { RunningDeploys } from "../deploy/running-deploys.ts";
import { catchBugs } from "../pipeline/catch-bugs.ts";
import type { Permit } from "../pipeline/keyed-semaphore.ts";
import type { Caller } from "../pipeline/use-case.ts";

/** Waits for the account's other redeploys, and then for the other deploys of the name. */
const turnOf = ({ redeploys, names }: RunningDeploys, owner: AccountId, name: DeploymentName): Permit => {
  const account = redeploys.acquire(owner);
  let isReleased = false;
  let permit = account.granted ? names.acquire(name) : undefined;
  const whenGranted = account.whenGranted.then(() => {
    if (isReleased) return undefined;
    permit ??= names.acquire(name);
    return permit.whenGranted;
  });
  return {
    whenGranted,
    get granted() {
      return permit?.granted ?? false;
    },
    release: () => {
      isReleased = true;
      permit?.release();
      account.release();
    },
  };
};

/**
 * Starts the redeploy of a deployment. If a redeploy for the same secret already waits, returns that redeploy, because
 * it uses the version that is newest when it begins.
 */
const startOne = (
  caller: Caller,
  { name: secret }: PendingRedeploys,
  name: DeploymentName,
  author: Pick<RedeployRecord, "createdBy">,
): RunningDeploy => {
  const { deploys } = caller.context;
  const { account } = caller.principal;
  const key = JSON.stringify([account, name, secret]);
  const waiting = deploys.waitingRedeploys.get(key);
  if (waiting !== undefined) return waiting;
  const message = `Use the newest version of the secret '${secret}'`;
  const turn = turnOf(deploys, account, name);
  const run = queueRedeploy(
    caller,
    { ...servingRelease(name), renewed: secret, skipsUnchanged: true },
    { ...author, message, rolledBackTo: null, first: message, began: "A redeploy began" },
    turn,
  );
  deploys.waitingRedeploys.set(key, run);
  void Promise.race([turn.whenGranted, run.settled]).then(() => deploys.waitingRedeploys.delete(key));
  return run;
};

/**
 * Removes the record when all redeploys have ended. Keeps the record if this process is closing, because closing ends
 * the redeploys early.
 */
const endAfter = async (
  { context }: Caller,
  store: SecretStore,
  pending: PendingRedeploys,
  runs: readonly RunningDeploy[],
): Promise<void> => {
  await Promise.all(runs.map((run) => run.settled));
  if (context.deploys.isClosing) return;
  const ended = await catchBugs<void, ControlPlaneError>(async () => store.endRedeploys(pending));
  // The record remains, so the next server looks for deployments that are still behind.
  if (ended.isErr()) context.ports.logger.warn("could not record the end of redeploys", { error: ended.error });
};

/**
 * Starts a redeploy of each deployment that follows the secret and has an older version, and records them until they
 * have ended. The account's redeploys run one after another, and each waits for the running deploys of its name. A
 * failed redeploy does not stop the next.
 *
 * @param author the author of the releases; defaults to the caller
 */
export const redeployBehind = (
  caller: Caller,
  store: SecretStore,
  pending: PendingRedeploys,
  author: Pick<RedeployRecord, "createdBy"> = {},
) =>
  safeTry<SetSecretResponse["deploys"], ControlPlaneError>(async function* () {
    const services = yield* await caller.context.ports.provider.services.list(pending.owner, caller.options);
    const names = deploymentsToRedeploy(services, pending);
    if (names.length === 0) return ok([]);
    yield* await store.beginRedeploys(pending, caller.options);
    const runs = names.map((name) => startOne(caller, pending, name, author));
    void endAfter(caller, store, pending, runs);
    return ok(runs.map(({ name, deployId }) => ({ name, deploy_id: deployId })));
  });
