/**
 * Random sequences of commands on releases, variables, secrets and volumes. They use few names, so that commands
 * interact.
 */
import fc from "fast-check";
import {
  changeEnv,
  deleteSecret,
  deployRelease,
  type ReleaseCommand,
  removeDeployment,
  restart,
  restoreVolume,
  rollBack,
  setSecret,
  trashVolume,
  type Written,
} from "./release-commands.ts";
import type { ReleaseModel, ReleaseSystem } from "./release-model.ts";

const name = fc.constantFrom("app", "app", "web");
const secret = fc.constantFrom("KEY", "KEY", "OTHER");
const volume = fc.constantFrom("data", "logs");
const back = fc.nat({ max: 9 });
const cron = fc.constantFrom(null, "0 9 * * *", "30 4 1 * *");

const text: fc.Arbitrary<Written> = fc.constantFrom("one", "two");
const textOrReference = fc.oneof(
  text,
  { weight: 2, arbitrary: secret.map((one): Written => ({ secret: one })) },
  fc.record({ secret, version: fc.integer({ min: 1, max: 3 }) }, { noNullPrototype: true }),
);
const variables = (
  written: fc.Arbitrary<Written>,
  ...names: string[]
): fc.Arbitrary<Readonly<Record<string, Written>>> =>
  fc
    .subarray(names)
    .chain((chosen) => fc.tuple(...chosen.map((one) => fc.tuple(fc.constant(one), written))))
    .map((all) => Object.fromEntries(all));
const unset = fc.subarray(["A", "B", "TOKEN"], { maxLength: 2 });

const commandsWith = (written: fc.Arbitrary<Written>): readonly fc.WeightedArbitrary<ReleaseCommand>[] => [
  {
    weight: 5,
    arbitrary: fc
      .tuple(name, variables(written, "A", "TOKEN", "OLD"), fc.uniqueArray(volume, { maxLength: 2 }), cron)
      .map((all) => deployRelease(...all)),
  },
  { weight: 5, arbitrary: fc.tuple(name, fc.option(back)).map((all) => rollBack(...all)) },
  { weight: 2, arbitrary: name.map(restart) },
  {
    weight: 3,
    arbitrary: fc.tuple(name, variables(written, "A", "B", "TOKEN"), unset).map((all) => changeEnv(...all)),
  },
  { weight: 2, arbitrary: volume.map(trashVolume) },
  { weight: 2, arbitrary: volume.map(restoreVolume) },
  { weight: 1, arbitrary: name.map(removeDeployment) },
];

const secretCommands: readonly fc.WeightedArbitrary<ReleaseCommand>[] = [
  {
    weight: 5,
    arbitrary: fc.tuple(secret, fc.constantFrom("v1", "v2", "v3", "v4"), fc.boolean()).map((all) => setSecret(...all)),
  },
  { weight: 2, arbitrary: fc.tuple(secret, fc.option(fc.nat({ max: 3 }))).map((all) => deleteSecret(...all)) },
];

const deploy = deployRelease("app", {}, [], null);

/**
 * Commands for a platform that keeps the images of three releases. A rollback to an old release reuses its image. The
 * platform therefore keeps this image, although the old release is no longer among the newest three.
 */
export const retentionLife: readonly ReleaseCommand[] = [
  ...[deploy, deploy, deploy, deploy],
  // Release 1 has lost its image, and release 2 is the oldest one with an image.
  ...[rollBack("app", 3), rollBack("app", 2)],
  // Release 5 has the image of release 2, so release 2 can be restored, and release 3 cannot.
  ...[deploy, rollBack("app", 3), rollBack("app", 4)],
  // Each release has the same image, so an old one can be restored.
  ...[restart("app"), restart("app"), restart("app"), rollBack("app", 2), rollBack("app", null)],
];

/**
 * Sequences of at most `max` commands.
 * @param hasSecrets whether the provider supports secrets
 */
export const releaseLife = (
  max = 30,
  hasSecrets = true,
): fc.Arbitrary<Iterable<fc.AsyncCommand<ReleaseModel, ReleaseSystem>>> =>
  fc.commands(
    [fc.oneof(...(hasSecrets ? [...commandsWith(textOrReference), ...secretCommands] : commandsWith(text)))],
    { maxCommands: max, size: "max" },
  );
