/**
 * A model of volumes, objects and mounts as clients see them. A system under test must agree with it after every
 * command.
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

/** The expected state. Commands change it. */
export interface StorageModel {
  readonly accounts: ReadonlyMap<string, Account>;
  /** Running deployments by name, with the account that owns each and the mounted volumes. */
  readonly deployments: Map<string, { readonly owner: string; readonly mounts: readonly string[] }>;
  /** Names of deleted deployments, with the account that still owns each name. */
  readonly freed: Map<string, string>;
}

/** The system under test. */
export interface StorageSystem {
  readonly controlPlane: ControlPlane;
  /** The caller to use for this account. */
  principal(account: string): Principal;
  /** Deploys a valid source, and waits until the deploy ends. */
  deploy(
    account: string,
    fields: Readonly<Record<string, unknown>>,
  ): Promise<Result<readonly DeployEvent[], ControlPlaneError>>;
  /** Called after each command. Must move the clock, so that the next command has a later time. */
  pass(): Promise<void>;
}

/** A model in which each of these accounts exists and has no volumes. */
export const emptyModel = (accounts: readonly string[]): StorageModel => ({
  accounts: new Map(accounts.map((name) => [name, { volumes: new Map(), trash: [] }])),
  deployments: new Map(),
  freed: new Map(),
});

export const accountOf = ({ accounts }: StorageModel, name: string): Account => accounts.get(name) as Account;

/** Sorted names of the account's deployments that mount the volume. */
export const mountersOf = ({ deployments }: StorageModel, owner: string, volume: string): string[] =>
  [...deployments]
    .filter(([, one]) => one.owner === owner && one.mounts.includes(volume))
    .map(([name]) => name)
    .sort();

/** Expected error of a call on a volume that the account does not have; undefined if the account has the volume. */
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
  // A bucket belongs to one volume, live or deleted.
  expect(new Set([...shown, ...deleted].map(({ id }) => id)).size).toBe(shown.length + deleted.length);
  for (const [volume, objects] of volumes) {
    const page = (await controlPlane.listObjects(caller, { volume }))._unsafeUnwrap();
    expect(page.objects.map(({ path, size }) => [path, size])).toEqual(
      [...objects].sort(([a], [b]) => (a < b ? -1 : 1)).map(([path, content]) => [path, content.length]),
    );
  }
};

/** Fails unless the system shows every account exactly what the model contains. */
export const expectAgreement = async (model: StorageModel, system: StorageSystem): Promise<void> => {
  for (const name of model.accounts.keys()) await agreeOn(model, system, name);
};
