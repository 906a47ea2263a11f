/** Gives the newest version of a secret to the deployments that follow it. */
import { deploying } from "../../domain/deploy/events.ts";
import type { SetSecretResponse } from "../../domain/secrets/secret.ts";
import { isBehind } from "../../domain/secrets/uses.ts";
import type { SecretName } from "../../domain/wire/names.ts";
import { redeployPhases } from "../deploy/releases/redeploy.ts";
import { startUnbuilt } from "../deploy/releases/start-unbuilt.ts";
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
      const run = startUnbuilt(caller, name, {
        permit: previous === undefined ? acquire() : permitAfter(previous, acquire),
        first: deploying(message),
        waiting: deploying("Waiting for other deploys"),
        began: deploying("A redeploy began"),
        phases: (runContext) => redeployPhases(runContext, message),
      });
      previous = run.settled;
      started.push({ name, deploy_id: run.deployId });
    }
    return started;
  });
};
