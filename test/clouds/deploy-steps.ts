/** What is done again and again on a platform. */
import { expect } from "vitest";
import type { ControlPlane } from "../../core/control-plane.ts";
import type { Principal } from "../../core/domain/account.ts";
import type { DeployEvent } from "../../core/domain/deploy-events.ts";
import { chunked, expectOk } from "../contracts/support.ts";
import { nodeSource } from "../support/archives.ts";
import { principalOf } from "../support/local-platform.ts";

/** A declaration. */
export const first = { timeout: 10, volumes: {} };
/** Another one, with a volume that is not there yet and a schedule. */
export const second = (name: string) => ({ timeout: 11, volumes: { "/data": `${name}-data` }, schedule: "0 3 * * *" });

const ownAccount = (name: string): Principal => principalOf(`account-of-${name}`);

let sources = 0;

/** @param ownerOf whose a subject of the name is: each has an account of its own, unless this says otherwise */
export const stepsOn = (controlPlane: ControlPlane, ownerOf = ownAccount) => {
  /** The records; none where the deploy was refused before its stream, as an outage. */
  const deploy = async (name: string, fields: object): Promise<DeployEvent[]> => {
    const bytes = nodeSource(`source ${++sources}`);
    const archive = await expectOk(controlPlane.receiveSource(ownerOf(name), chunked(bytes)));
    const run = await controlPlane.deploy(ownerOf(name), { fields: { function_name: name, ...fields }, archive });
    if (run.isErr()) {
      expect(run.error.kind).toBe("unavailable");
      return [];
    }
    return Array.fromAsync(run.value.follow());
  };
  return {
    deploy,
    /** One that must end well. */
    deployed: async (name: string, fields: object): Promise<void> => {
      const end = (await deploy(name, fields)).at(-1);
      expect(end?.status, JSON.stringify(end)).toBe("DONE");
    },
    shown: async (name: string) => {
      const listed = await expectOk(controlPlane.listDeployments(ownerOf(name)));
      return listed.find((one) => one.name === name);
    },
    remove: async (name: string) => controlPlane.deleteDeployment(ownerOf(name), { name }),
    createVolume: async (name: string, volume: string) => controlPlane.createVolume(ownerOf(name), { name: volume }),
    deleteVolume: async (name: string, volume: string) => controlPlane.deleteVolume(ownerOf(name), { name: volume }),
    volumesOf: async (name: string) =>
      (await expectOk(controlPlane.listVolumes(ownerOf(name)))).map((volume) => volume.name),
    trashOf: async (name: string) =>
      (await expectOk(controlPlane.listTrash(ownerOf(name)))).map((volume) => volume.name),
  };
};
