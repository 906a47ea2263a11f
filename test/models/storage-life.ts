/**
 * Random sequences of storage commands. They use few accounts and few names, so that commands affect the same volumes.
 *
 * ```ts
 * fc.asyncProperty(storageLife(), (commands) => fc.asyncModelRun(setup, commands));
 * ```
 */
import fc from "fast-check";
import { deploy, removeDeployment, toggleMount } from "./deploy-commands.ts";
import {
  createVolume,
  deleteObject,
  deleteVolume,
  getObject,
  putObject,
  restoreVolume,
  type StorageCommand,
} from "./storage-commands.ts";
import type { StorageModel, StorageSystem } from "./storage-model.ts";

/** The accounts of the generated commands, for `emptyModel`. */
export const storageAccounts = ["acme", "other", "third"] as const;

const account = fc.constantFrom("acme", "acme", ...storageAccounts);
const volume = fc.constantFrom("data", "data", "logs", "models");
const name = fc.constantFrom("app", "web", "job");
const path = fc.constantFrom("a", "b/c", "Ünï cödé/%2F.txt");
const which = fc.nat({ max: 3 });
const content = fc.constantFrom("", "one", "another", "a longer content");

const commands: readonly fc.WeightedArbitrary<StorageCommand>[] = [
  { weight: 3, arbitrary: fc.tuple(account, volume).map((all) => createVolume(...all)) },
  { weight: 4, arbitrary: fc.tuple(account, volume).map((all) => deleteVolume(...all)) },
  {
    weight: 4,
    arbitrary: fc.tuple(account, volume, fc.option(which, { nil: undefined })).map((all) => restoreVolume(...all)),
  },
  {
    weight: 4,
    arbitrary: fc
      .tuple(account, name, fc.uniqueArray(volume, { maxLength: 3 }))
      .map(([who, what, mounts]) => deploy(who, what, mounts)),
  },
  { weight: 4, arbitrary: fc.tuple(which, volume).map((all) => toggleMount(...all)) },
  { weight: 3, arbitrary: fc.tuple(account, name).map((all) => removeDeployment(...all)) },
  { weight: 4, arbitrary: fc.tuple(account, volume, path, content).map((all) => putObject(...all)) },
  { weight: 3, arbitrary: fc.tuple(account, volume, path).map((all) => getObject(...all)) },
  { weight: 2, arbitrary: fc.tuple(account, volume, path).map((all) => deleteObject(...all)) },
];

/** Sequences of at most `max` commands. */
export const storageLife = (max = 40): fc.Arbitrary<Iterable<fc.AsyncCommand<StorageModel, StorageSystem>>> =>
  fc.commands([fc.oneof(...commands)], { maxCommands: max, size: "max" });
