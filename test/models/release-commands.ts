/** Commands on releases, variables, secrets and volumes that check each result against the model. */
import type fc from "fast-check";
import { expect } from "vitest";
import type { DeployRun } from "../../core/control-plane.ts";
import type { ControlPlaneError } from "../../core/errors.ts";
import type { Result } from "../../core/result.ts";
import {
  addRelease,
  type Content,
  expectReleases,
  hasImage,
  listedReleases,
  type ModelRelease,
  newestOf,
  type Reference,
  type ReleaseModel,
  type ReleaseSystem,
  referencesIn,
  servingOf,
} from "./release-model.ts";

export type ReleaseCommand = fc.AsyncCommand<ReleaseModel, ReleaseSystem>;

/** A value of a variable as a client writes it. */
export type Written = string | { readonly secret: string; readonly version?: number };

const command = (
  words: string,
  run: (model: ReleaseModel, system: ReleaseSystem) => Promise<void>,
  check: (model: Readonly<ReleaseModel>) => boolean = () => true,
): ReleaseCommand => ({
  check,
  run: async (model, system) => {
    await run(model, system);
    await system.pass();
    await expectReleases(model, system);
  },
  toString: () => words,
});

const runs =
  (name: string) =>
  ({ deployments }: Readonly<ReleaseModel>): boolean =>
    deployments.has(name);

const errorKind = <T>(result: Result<T, ControlPlaneError>): string => (result.isOk() ? "ok" : result.error.kind);

/** Pins a reference; undefined if the secret or its version does not exist. */
const pin = (model: ReleaseModel, { secret, version }: Exclude<Written, string>): Reference | undefined => {
  const found = version ?? newestOf(model, secret);
  return found !== undefined && model.secrets.get(secret)?.values.has(found) === true
    ? { secret, version: found, fixed: version !== undefined }
    : undefined;
};

/** Pins all references; undefined if one of them does not exist. */
const pinAll = (model: ReleaseModel, env: Readonly<Record<string, Written>>): Content["env"] | undefined => {
  const pinned: [string, string | Reference][] = [];
  for (const [variable, value] of Object.entries(env)) {
    const one = typeof value === "string" ? value : pin(model, value);
    if (one === undefined) return undefined;
    pinned.push([variable, one]);
  }
  return Object.fromEntries(pinned);
};

const succeeds = async ({ call, follow }: ReleaseSystem, run: PromiseLike<Result<DeployRun, ControlPlaneError>>) => {
  const records = await follow((await call(run))._unsafeUnwrap());
  expect(records.at(-1)).toMatchObject({ status: "DONE" });
  return records;
};

const plain = (content: Content): Content => ({
  source: content.source,
  env: content.env,
  mounts: content.mounts,
  cron: content.cron,
});

/** Deploys a new source. Fails with 422 if the environment refers to a secret or version that does not exist. */
export const deployRelease = (
  name: string,
  env: Readonly<Record<string, Written>>,
  mounts: readonly string[],
  cron: string | null,
): ReleaseCommand =>
  command(`deploy ${name} ${JSON.stringify({ env, mounts, cron })}`, async (model, system) => {
    const source = `source ${++model.deploys}`;
    const pinned = pinAll(model, env);
    const ended = await system.deploy(source, {
      function_name: name,
      env,
      volumes: Object.fromEntries(mounts.map((volume) => [`/mnt/${volume}`, volume])),
      schedule: cron === null ? null : { cron },
    });
    if (pinned === undefined) return expect(errorKind(ended)).toBe("invalid_input");
    expect(ended._unsafeUnwrap().at(-1)).toMatchObject({ status: "DONE" });
    for (const volume of mounts) model.volumes.add(volume);
    await addRelease(model, system, name, { source, env: pinned, mounts, cron });
  });

/** The content that a rollback restores: a deleted version of a secret becomes the newest one. */
const restored = (model: ReleaseModel, target: ModelRelease): Content | undefined => {
  if (target.mounts.some((volume) => !model.volumes.has(volume))) return undefined;
  const env: [string, string | Reference][] = [];
  for (const [variable, value] of Object.entries(target.env)) {
    if (typeof value === "string") env.push([variable, value]);
    else {
      const version =
        model.secrets.get(value.secret)?.values.has(value.version) === true
          ? value.version
          : newestOf(model, value.secret);
      if (version === undefined) return undefined;
      env.push([variable, { ...value, version }]);
    }
  }
  return { ...plain(target), env: Object.fromEntries(env) };
};

const sameContent = (a: Content, b: Content): boolean => JSON.stringify(plain(a)) === JSON.stringify(plain(b));

/** The release that introduced the content of a release. */
const originOf = (releases: readonly ModelRelease[], release: number): number => {
  const index = releases.findIndex((one) => one.release === release);
  const one = releases[index];
  if (one === undefined) return release;
  if (one.rolledBackTo !== null) return originOf(releases, one.rolledBackTo);
  const before = releases[index - 1];
  return before !== undefined && sameContent(before, one) ? originOf(releases, before.release) : release;
};

const defaultTarget = (releases: readonly ModelRelease[]): ModelRelease | undefined => {
  const origin = originOf(releases, releases.at(-1)?.release ?? 0);
  return releases.findLast(({ release }) => release < origin);
};

/**
 * The releases that a rollback could restore instead of one without an image. Omits the last one, which already serves.
 */
const restorableNumbers = (model: ReleaseModel, system: ReleaseSystem, name: string): number[] =>
  listedReleases(model, system, name)
    .slice(0, -1)
    .filter((one) => hasImage(model, system, name, one))
    .map(({ release }) => release);

/** Fails unless the error names one of the restorable releases, or none if the list is empty. */
const expectPruned = (error: ControlPlaneError, restorable: readonly number[]): void => {
  expect(error).toMatchObject({ kind: "conflict", message: expect.stringContaining("was pruned") });
  const named = / back to release (\d+)/.exec(error.message)?.[1];
  if (restorable.length === 0) expect(named).toBeUndefined();
  else expect(restorable).toContain(Number(named));
};

/** @param back the release to restore, counted from the newest; null for the default */
export const rollBack = (name: string, back: number | null): ReleaseCommand =>
  command(
    `roll ${name} back ${back === null ? "by default" : `to #-${back + 1}`}`,
    async (model, system) => {
      const { controlPlane, principal, call } = system;
      const listed = listedReleases(model, system, name);
      const all = model.deployments.get(name) ?? [];
      const target = back === null ? defaultTarget(listed) : all.at(-1 - (back % all.length));
      const request = back === null ? { name } : { name, release: target?.release };
      const refused = async () => (await call(controlPlane.rollback(principal, request)))._unsafeUnwrapErr();
      if (target !== undefined && !listed.includes(target)) return expect((await refused()).kind).toBe("not_found");
      if (target !== undefined && !hasImage(model, system, name, target))
        return expectPruned(await refused(), restorableNumbers(model, system, name));
      const content = target === undefined ? undefined : restored(model, target);
      if (target === undefined || content === undefined) return expect((await refused()).kind).toBe("conflict");
      await succeeds(system, controlPlane.rollback(principal, request));
      await addRelease(model, system, name, content, target.release);
    },
    runs(name),
  );

export const restart = (name: string): ReleaseCommand =>
  command(
    `restart ${name}`,
    async (model, system) => {
      await succeeds(system, system.controlPlane.restartDeployment(system.principal, { name }));
      await addRelease(model, system, name, plain(servingOf(model, name)));
    },
    runs(name),
  );

const sameReference = (a: string | Reference | undefined, b: Reference): boolean =>
  a !== undefined &&
  typeof a !== "string" &&
  a.secret === b.secret &&
  a.fixed === b.fixed &&
  (!b.fixed || a.version === b.version);

/** Sets and removes variables. A reference that the change repeats keeps its version. */
export const changeEnv = (
  name: string,
  set: Readonly<Record<string, Written>>,
  unset: readonly string[],
): ReleaseCommand =>
  command(
    `change ${name} ${JSON.stringify({ set, unset })}`,
    async (model, system) => {
      const { controlPlane, principal, call } = system;
      const serving = servingOf(model, name);
      const pinned = pinAll(model, set);
      const request = { name, set, unset };
      const isValid =
        pinned !== undefined &&
        unset.every((variable) => Object.hasOwn(serving.env, variable) && !Object.hasOwn(set, variable)) &&
        unset.length + Object.keys(set).length > 0;
      if (!isValid)
        return expect(errorKind(await call(controlPlane.setEnvironment(principal, request)))).toBe("invalid_input");
      await succeeds(system, controlPlane.setEnvironment(principal, request));
      const changed = Object.entries(pinned).map(([variable, value]) => {
        const old = serving.env[variable];
        return [variable, typeof value !== "string" && sameReference(old, value) ? old : value] as const;
      });
      const kept = Object.entries(serving.env).filter(([variable]) => !unset.includes(variable));
      const env = Object.fromEntries([...kept, ...changed]) as Content["env"];
      await addRelease(model, system, name, { ...plain(serving), env });
    },
    runs(name),
  );

/** The content after a redeploy for a new version of a secret; undefined if the redeploy would change nothing. */
const renewed = (serving: Content, secret: string, newest: number): Content | undefined => {
  const isBehind = referencesIn(serving).some(([, one]) => one.secret === secret && !one.fixed && one.version < newest);
  if (!isBehind) return undefined;
  const env = Object.entries(serving.env).map(([variable, value]) => [
    variable,
    typeof value !== "string" && value.secret === secret && !value.fixed ? { ...value, version: newest } : value,
  ]);
  return { ...plain(serving), env: Object.fromEntries(env) };
};

/** The minimum number of versions of a secret that the platform keeps. */
const VERSIONS = 10;

export const setSecret = (secret: string, value: string, redeploy: boolean): ReleaseCommand =>
  command(
    `set ${secret} to ${value}${redeploy ? "" : " without redeploys"}`,
    async (model, system) => {
      const { controlPlane, principal, call } = system;
      const stored = model.secrets.get(secret) ?? { values: new Map<number, string>(), highest: 0 };
      const answer = (await call(controlPlane.setSecret(principal, { name: secret, value, redeploy })))._unsafeUnwrap();
      const newest = newestOf(model, secret);
      if (newest !== undefined && stored.values.get(newest) === value) expect(answer.version).toBe(newest);
      else {
        expect(answer.version).toBeGreaterThan(stored.highest);
        stored.values.set(answer.version, value);
        stored.highest = answer.version;
        model.secrets.set(secret, stored);
      }
      const behind = [...model.deployments.keys()]
        .map((name) => [name, renewed(servingOf(model, name), secret, answer.version)] as const)
        .filter((one): one is readonly [string, Content] => one[1] !== undefined);
      expect(answer.deploys.map(({ name }) => name).sort()).toEqual(
        redeploy ? behind.map(([name]) => name).sort() : [],
      );
      await call(controlPlane.settle());
      for (const [name, content] of redeploy ? behind : []) await addRelease(model, system, name, content);
    },
    ({ secrets }) => (secrets.get(secret)?.values.size ?? 0) < VERSIONS,
  );

/** Fails with `conflict` if a serving release uses the version, and with `not_found` if it does not exist. */
export const deleteSecret = (secret: string, back: number | null): ReleaseCommand =>
  command(`delete ${secret} ${back === null ? "" : `#-${back + 1}`}`, async (model, system) => {
    const { controlPlane, principal, call } = system;
    const stored = model.secrets.get(secret)?.values ?? new Map<number, string>();
    const version = back === null ? undefined : ([...stored.keys()].sort((a, b) => b - a)[back] ?? 99);
    const request = version === undefined ? { name: secret } : { name: secret, version };
    const isUsed = [...model.deployments.keys()].some((name) =>
      referencesIn(servingOf(model, name)).some(
        ([, one]) => one.secret === secret && (version === undefined || one.version === version),
      ),
    );
    const exists = version === undefined ? stored.size > 0 : stored.has(version);
    const deleted = await call(controlPlane.deleteSecret(principal, request));
    expect(errorKind(deleted)).toBe(exists ? (isUsed ? "conflict" : "ok") : "not_found");
    if (deleted.isErr()) return;
    if (version === undefined) stored.clear();
    else stored.delete(version);
  });

/** Deletes a volume. Fails with `conflict` while a serving release mounts the volume. */
export const trashVolume = (volume: string): ReleaseCommand =>
  command(
    `delete volume ${volume}`,
    async (model, { controlPlane, principal, call }) => {
      const isMounted = [...model.deployments.keys()].some((name) => servingOf(model, name).mounts.includes(volume));
      const deleted = await call(controlPlane.deleteVolume(principal, { name: volume }));
      expect(errorKind(deleted)).toBe(isMounted ? "conflict" : "ok");
      if (deleted.isErr()) return;
      model.volumes.delete(volume);
      model.trash.add(volume);
    },
    ({ volumes }) => volumes.has(volume),
  );

export const restoreVolume = (volume: string): ReleaseCommand =>
  command(
    `restore volume ${volume}`,
    async (model, { controlPlane, principal, call }) => {
      (await call(controlPlane.restoreVolume(principal, { name: volume })))._unsafeUnwrap();
      model.trash.delete(volume);
      model.volumes.add(volume);
    },
    ({ volumes, trash }) => trash.has(volume) && !volumes.has(volume),
  );

export const removeDeployment = (name: string): ReleaseCommand =>
  command(
    `remove ${name}`,
    async (model, { controlPlane, principal, call }) => {
      (await call(controlPlane.deleteDeployment(principal, { name })))._unsafeUnwrap();
      model.deployments.delete(name);
    },
    runs(name),
  );
