/**
 * What volumes, objects and mounts are to a client, and nothing else: a few maps that a system under test has to agree
 * with after every command.
 */
import { expect } from "vitest";
import type { ControlPlane } from "../../core/control-plane.ts";
import type { Principal } from "../../core/domain/accounts/account.ts";
import type { DeployEvent } from "../../core/domain/deploy/events.ts";
import type { ControlPlaneError } from "../../core/errors.ts";
import type { Result } from "../../core/result.ts";

/** Objects by path. */
type Objects = Map<string, string>;

interface Account {
  readonly volumes: Map<string, Objects>;
  /** Deleted volumes, newest first. */
  readonly trash: { readonly name: string; readonly objects: Objects }[];
}

export interface StorageModel {
  readonly accounts: ReadonlyMap<string, Account>;
  /** What runs, by name: whose it is, and the volumes that it mounts. */
  readonly deployments: Map<string, { readonly owner: string; readonly mounts: readonly string[] }>;
  /** Whose name it was, and so is still. */
  readonly freed: Map<string, string>;
}

export interface StorageSystem {
  readonly controlPlane: ControlPlane;
  principal(account: string): Principal;
  /** Deploys a source that works, and waits for the end. */
  deploy(
    account: string,
    fields: Readonly<Record<string, unknown>>,
  ): Promise<Result<readonly DeployEvent[], ControlPlaneError>>;
  /** Called between commands, so that what follows is later. */
  pass(): Promise<void>;
}

export const emptyModel = (accounts: readonly string[]): StorageModel => ({
  accounts: new Map(accounts.map((name) => [name, { volumes: new Map(), trash: [] }])),
  deployments: new Map(),
  freed: new Map(),
});

export const accountOf = ({ accounts }: StorageModel, name: string): Account => accounts.get(name) as Account;

/** Who mounts the account's volume, by name. */
export const mountersOf = ({ deployments }: StorageModel, owner: string, volume: string): string[] =>
  [...deployments]
    .filter(([, one]) => one.owner === owner && one.mounts.includes(volume))
    .map(([name]) => name)
    .sort();

/** What a call is refused with that names a volume which the account may not have; undefined where it has it. */
export const refusalOf = (model: StorageModel, account: string, volume: string): string | undefined => {
  if (accountOf(model, account).volumes.has(volume)) return undefined;
  return [...model.accounts.values()].some(({ volumes }) => volumes.has(volume)) ? "forbidden" : "not_found";
};

const agreeOn = async (model: StorageModel, { controlPlane, principal }: StorageSystem, name: string) => {
  const { volumes, trash } = accountOf(model, name);
  const caller = principal(name);
  const shown = (await controlPlane.listVolumes(caller))._unsafeUnwrap();
  const expected = [...volumes.keys()].sort();
  expect(shown.map((one) => [one.name, one.attached_to])).toEqual(
    expected.map((volume) => [volume, mountersOf(model, name, volume)]),
  );
  const deleted = (await controlPlane.listTrash(caller))._unsafeUnwrap();
  expect(deleted.map((one) => one.name)).toEqual(trash.map((one) => one.name));
  // A bucket is in one place.
  expect(new Set([...shown, ...deleted].map(({ id }) => id)).size).toBe(shown.length + deleted.length);
  for (const [volume, objects] of volumes) {
    const page = (await controlPlane.listObjects(caller, { volume }))._unsafeUnwrap();
    expect(page.objects.map(({ path, size }) => [path, size])).toEqual(
      [...objects].sort(([a], [b]) => (a < b ? -1 : 1)).map(([path, content]) => [path, content.length]),
    );
  }
};

/** The system shows what the model has, to every account. */
export const expectAgreement = async (model: StorageModel, system: StorageSystem): Promise<void> => {
  for (const name of model.accounts.keys()) await agreeOn(model, system, name);
};
