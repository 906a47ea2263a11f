/** Gives the newest version of a secret to the deployments that follow it. */
import type { SetSecretResponse } from "../../domain/secrets/secret.ts";
import { isBehind } from "../../domain/secrets/uses.ts";
import type { SecretName } from "../../domain/wire/names.ts";
import { queueRedeploy } from "../deploy/releases/redeploy.ts";
import { servingRelease } from "../deploy/releases/restart.ts";
import type { Permit } from "../pipeline/keyed-semaphore.ts";
import type { Caller } from "../pipeline/use-case.ts";

/** Requests a permit when `ready` resolves. */
const permitAfter = (ready: Promise<void>, acquire: () => Permit): Permit => {
  let permit: Permit | undefined;
  let isReleased = false;
  const whenGranted = ready.then(() => {
    if (isReleased) return undefined;
    permit = acquire();
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
    },
  };
};

/**
 * Starts a redeploy of each deployment that follows the secret and has an older version than `version`. The redeploys
 * run one after another, and each waits for the running deploys of its name. A failed redeploy does not stop the next.
 */
export const redeployBehind = (caller: Caller, secret: SecretName, version: number) => {
  const { context, principal, options } = caller;
  const { deploys } = context;
  return context.ports.provider.services.list(principal.account, options).map((services) => {
    const started: SetSecretResponse["deploys"] = [];
    let previous: Promise<void> | undefined;
    for (const { name } of services.filter((service) => isBehind(service, secret, version))) {
      const message = `Use version ${version} of the secret '${secret}'`;
      const acquire = () => deploys.names.acquire(name);
      const run = queueRedeploy(
        caller,
        { ...servingRelease(name), skipsUnchanged: true },
        { message, rolledBackTo: null, first: message, began: "A redeploy began" },
        previous === undefined ? acquire() : permitAfter(previous, acquire),
      );
      previous = run.settled;
      started.push({ name, deploy_id: run.deployId });
    }
    return started;
  });
};
