/** Gives the newest version of a secret to the deployments that follow it. */
import type { AccountId } from "../../domain/accounts/account.ts";
import type { SetSecretResponse } from "../../domain/secrets/secret.ts";
import { isBehind } from "../../domain/secrets/uses.ts";
import type { DeploymentName, SecretName } from "../../domain/wire/names.ts";
import { queueRedeploy } from "../deploy/releases/redeploy.ts";
import { servingRelease } from "../deploy/releases/restart.ts";
import type { RunningDeploys } from "../deploy/running-deploys.ts";
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
 * Starts a redeploy of each deployment that follows the secret and has an older version than `version`. The account's
 * redeploys run one after another, and each waits for the running deploys of its name. A waiting redeploy uses the
 * newest version when it begins, so a later version does not queue another one. A failed redeploy does not stop the
 * next.
 */
export const redeployBehind = (caller: Caller, secret: SecretName, version: number) => {
  const { context, principal, options } = caller;
  const { account } = principal;
  const { deploys } = context;
  const message = `Use the newest version of the secret '${secret}'`;
  const start = (name: DeploymentName): string => {
    const key = JSON.stringify([account, name, secret]);
    const waiting = deploys.waitingRedeploys.get(key);
    if (waiting !== undefined) return waiting;
    const turn = turnOf(deploys, account, name);
    const { deployId, settled } = queueRedeploy(
      caller,
      { ...servingRelease(name), renewed: secret, skipsUnchanged: true },
      { message, rolledBackTo: null, first: message, began: "A redeploy began" },
      turn,
    );
    deploys.waitingRedeploys.set(key, deployId);
    void Promise.race([turn.whenGranted, settled]).then(() => deploys.waitingRedeploys.delete(key));
    return deployId;
  };
  return context.ports.provider.services
    .list(account, options)
    .map((services): SetSecretResponse["deploys"] =>
      services
        .filter((service) => isBehind(service, secret, version))
        .map(({ name }) => ({ name, deploy_id: start(name) })),
    );
};
