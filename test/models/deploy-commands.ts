/** Commands that deploy services with volumes and delete deployments, and check the results against the model. */
import { expect } from "vitest";
import { command, type StorageCommand } from "./storage-commands.ts";
import { accountOf, type StorageModel, type StorageSystem } from "./storage-model.ts";

const ownerOf = ({ deployments, freed }: StorageModel, name: string): string | undefined =>
  deployments.get(name)?.owner ?? freed.get(name);

const deployWith = async (
  model: StorageModel,
  system: StorageSystem,
  account: string,
  name: string,
  mounts: readonly string[],
): Promise<void> => {
  const volumes = Object.fromEntries(mounts.map((volume) => [`/mnt/${volume}`, volume]));
  const ended = await system.deploy(account, { function_name: name, volumes });
  if ((ownerOf(model, name) ?? account) !== account) return expect(ended._unsafeUnwrapErr().kind).toBe("forbidden");
  const records = ended._unsafeUnwrap();
  expect(records.at(-1)).toMatchObject({ status: "DONE" });
  const own = accountOf(model, account).volumes;
  const created = mounts.filter((volume) => !own.has(volume)).sort();
  expect(records.flatMap(({ volume }) => (volume === undefined ? [] : [volume]))).toEqual(created);
  for (const volume of created) own.set(volume, new Map());
  model.deployments.set(name, { owner: account, mounts });
};

/**
 * A deploy that mounts these volumes. Must fail with `forbidden` if another account owns the name, and succeed
 * otherwise.
 */
export const deploy = (account: string, name: string, mounts: readonly string[]): StorageCommand =>
  command(`${account}: deploy ${name} with [${mounts.join(", ")}]`, (model, system) =>
    deployWith(model, system, account, name, mounts),
  );

/** Redeploys an existing deployment: without the volume if the deployment mounts it, with the volume otherwise. */
export const toggleMount = (which: number, volume: string): StorageCommand => ({
  ...command(`redeploy #${which} with or without ${volume}`, async (model, system) => {
    const [name, { owner, mounts }] = [...model.deployments][which % model.deployments.size] ?? [
      "",
      { owner: "", mounts: [] },
    ];
    const changed = mounts.includes(volume) ? mounts.filter((one) => one !== volume) : [...mounts, volume];
    await deployWith(model, system, owner, name, changed);
  }),
  check: ({ deployments }) => deployments.size > 0,
});

/**
 * Deletes a deployment. Its account keeps the name and the volumes. Fails with `forbidden` for other accounts.
 */
export const removeDeployment = (account: string, name: string): StorageCommand =>
  command(`${account}: remove ${name}`, async (model, { controlPlane, principal }) => {
    const removed = await controlPlane.deleteDeployment(principal(account), { name });
    if ((ownerOf(model, name) ?? account) !== account) return expect(removed._unsafeUnwrapErr().kind).toBe("forbidden");
    expect(removed.isOk() ? "ok" : removed.error.kind).toBe(model.deployments.has(name) ? "ok" : "not_found");
    if (model.deployments.delete(name)) model.freed.set(name, account);
  });
