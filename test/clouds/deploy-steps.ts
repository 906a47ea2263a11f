/** Common steps of tests on a platform. */
import { expect } from "vitest";
import type { ControlPlane, DeployFields } from "../../core/control-plane.ts";
import type { Principal } from "../../core/domain/accounts/account.ts";
import type { DeployEvent } from "../../core/domain/deploy/events.ts";
import { chunked, expectOk } from "../contracts/support.ts";
import { nodeSource } from "../support/archives/archives.ts";
import { principalOf } from "../support/providers/local-platform.ts";

export const firstDeclaration = { timeout: 10, volumes: {} };
/** Has a volume that does not exist yet, and a schedule. */
export const secondDeclaration = (name: string) => ({
  timeout: 11,
  volumes: { "/data": `${name}-data` },
  schedule: "0 3 * * *",
});

const ownAccount = (name: string): Principal => principalOf(`account-of-${name}`);

let sources = 0;

/** @param ownerOf the account of a test subject's name; by default each name has its own account */
export const stepsOn = (controlPlane: ControlPlane, ownerOf = ownAccount) => {
  /** Returns the deploy's events; empty if an outage rejected the deploy before its stream began. */
  const deploy = async (name: string, fields: object): Promise<DeployEvent[]> => {
    const bytes = nodeSource(`source ${++sources}`);
    const archive = await expectOk(controlPlane.receiveSource(ownerOf(name), chunked(bytes)));
    const run = await controlPlane.deploy(ownerOf(name), {
      fields: { function_name: name, ...fields } as DeployFields,
      archive,
    });
    if (run.isErr()) {
      expect(run.error.kind).toBe("unavailable");
      return [];
    }
    return Array.fromAsync(run.value.follow());
  };
  return {
    deploy,
    /** A deploy that must succeed. */
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
