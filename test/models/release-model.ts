/**
 * A model of deployments, their releases and the account's secrets and volumes, as one client sees them. A system under
 * test must agree with it after every command.
 */
import { expect } from "vitest";
import type { ControlPlane, DeployRun } from "../../core/control-plane.ts";
import type { Principal } from "../../core/domain/accounts/account.ts";
import type { DeployEvent } from "../../core/domain/deploy/events.ts";
import type { ControlPlaneError } from "../../core/errors.ts";
import type { Result } from "../../core/result.ts";

/** A reference to a secret; `fixed` if it names the version. */
export interface Reference {
  readonly secret: string;
  readonly version: number;
  readonly fixed: boolean;
}

/** What a release declares, and the image that it runs. */
export interface Content {
  /** The text of the source, which is different for each deploy. */
  readonly source: string;
  readonly env: Readonly<Record<string, string | Reference>>;
  /** Names of volumes, each mounted at `/mnt/NAME`. */
  readonly mounts: readonly string[];
  readonly cron: string | null;
}

export interface ModelRelease extends Content {
  readonly release: number;
  readonly rolledBackTo: number | null;
}

interface ModelSecret {
  /** Values by version, without the deleted ones. */
  readonly values: Map<number, string>;
  /** The number of the newest version that ever existed. */
  highest: number;
}

/** The expected state. Commands change it. */
export interface ReleaseModel {
  /** The releases of each running deployment, oldest first. */
  readonly deployments: Map<string, readonly ModelRelease[]>;
  readonly secrets: Map<string, ModelSecret>;
  readonly volumes: Set<string>;
  /** Names of deleted volumes. */
  readonly trash: Set<string>;
  /** The digest of each source's image. */
  readonly images: Map<string, string>;
  /** Each release that was seen, as `NAME UID NUMBER`. */
  readonly seen: Set<string>;
  deploys: number;
}

/** How a system under test retains the releases of a deployment. */
export interface Retention {
  /** The setting `releasesKept`. */
  readonly kept: number;
  /** Whether lists contain releases whose images were removed. */
  readonly listsPruned: boolean;
}

/** The system under test, with one account. */
export interface ReleaseSystem {
  readonly retention: Retention;
  readonly controlPlane: ControlPlane;
  readonly principal: Principal;
  /** Returns the result of a call. A simulated system advances its clock until then. */
  call<T>(work: PromiseLike<T>): Promise<T>;
  /** Deploys a source with this text, and returns the records. */
  deploy(
    source: string,
    fields: Readonly<Record<string, unknown>>,
  ): Promise<Result<readonly DeployEvent[], ControlPlaneError>>;
  follow(run: DeployRun): Promise<readonly DeployEvent[]>;
  /** The variables of the service, and the text of the source that serves if the service can report it. */
  observe(name: string): Promise<{ readonly source?: string; readonly env: Readonly<Record<string, string>> }>;
  /** How `observe` shows a reference. */
  shown(reference: Reference, value: string | undefined): string;
  /** Called after each command. Must move the clock, so that the next command has a later time. */
  pass(): Promise<void>;
}

export const emptyReleases = (): ReleaseModel => ({
  deployments: new Map(),
  secrets: new Map(),
  volumes: new Set(),
  trash: new Set(),
  images: new Map(),
  seen: new Set(),
  deploys: 0,
});

/** The newest version of a secret; undefined if it has none. */
export const newestOf = ({ secrets }: ReleaseModel, secret: string): number | undefined => {
  const versions = [...(secrets.get(secret)?.values.keys() ?? [])];
  return versions.length === 0 ? undefined : Math.max(...versions);
};

export const servingOf = ({ deployments }: ReleaseModel, name: string): ModelRelease =>
  deployments.get(name)?.at(-1) as ModelRelease;

const isReference = (value: string | Reference): value is Reference => typeof value !== "string";

/** The references in a release's content, by variable. */
export const referencesIn = ({ env }: Pick<Content, "env">): readonly (readonly [string, Reference])[] =>
  Object.entries(env).flatMap(([variable, value]) => (isReference(value) ? [[variable, value] as const] : []));

const pinsOf = (content: Content): Record<string, number> => {
  const pins: Record<string, number> = {};
  for (const [, { secret, version }] of referencesIn(content)) pins[secret] = Math.max(version, pins[secret] ?? 0);
  return pins;
};

/** The releases that the system lists, oldest first. */
export const listedReleases = (
  { deployments }: ReleaseModel,
  { retention: { kept, listsPruned } }: ReleaseSystem,
  name: string,
): readonly ModelRelease[] => (deployments.get(name) ?? []).slice(listsPruned ? 0 : -kept);

/**
 * Whether the image of a release must exist: one of the newest releases has the same source. A rollback gives an old
 * source to a new release.
 */
export const hasImage = (
  { deployments }: ReleaseModel,
  { retention: { kept } }: ReleaseSystem,
  name: string,
  { source }: Content,
): boolean => (deployments.get(name) ?? []).slice(-kept).some((one) => one.source === source);

const agreeOn = async (model: ReleaseModel, system: ReleaseSystem, name: string): Promise<void> => {
  const { controlPlane, principal, call } = system;
  const expected = listedReleases(model, system, name);
  const page = (await call(controlPlane.listReleases(principal, { name, limit: 100 })))._unsafeUnwrap();
  expect(page.releases.map(({ release, rolled_back_to }) => [release, rolled_back_to])).toEqual(
    [...expected].reverse().map(({ release, rolledBackTo }) => [release, rolledBackTo]),
  );
  const statusOf = (one: ModelRelease): string => (hasImage(model, system, name, one) ? "replaced" : "pruned");
  expect(page.releases.map(({ status }) => status)).toEqual([
    "serving",
    ...expected.slice(0, -1).reverse().map(statusOf),
  ]);
  for (const [index, { declaration, secrets, image_digest: image }] of page.releases.entries()) {
    const content = expected.at(-1 - index) as ModelRelease;
    if (!model.images.has(content.source)) {
      expect([...model.images.values()]).not.toContain(image);
      model.images.set(content.source, image);
    }
    expect(image).toBe(model.images.get(content.source));
    expect(Object.keys(declaration.env).sort()).toEqual(Object.keys(content.env).sort());
    expect(Object.keys(declaration.volumes).sort()).toEqual(content.mounts.map((volume) => `/mnt/${volume}`).sort());
    expect(declaration.schedule?.cron ?? null).toBe(content.cron);
    expect(secrets).toEqual(pinsOf(content));
  }
  const serving = servingOf(model, name);
  const { source, env } = await system.observe(name);
  expect(source ?? serving.source).toBe(serving.source);
  expect(env).toEqual(
    Object.fromEntries(
      Object.entries(serving.env).map(([variable, value]) => [
        variable,
        isReference(value) ? system.shown(value, model.secrets.get(value.secret)?.values.get(value.version)) : value,
      ]),
    ),
  );
};

/** Fails unless the system shows exactly what the model contains. */
export const expectReleases = async (model: ReleaseModel, system: ReleaseSystem): Promise<void> => {
  const { controlPlane, principal, call } = system;
  const listed = (await call(controlPlane.listDeployments(principal)))._unsafeUnwrap();
  expect(
    listed.map(({ name, env, volumes, schedule }) => [
      name,
      [...env].sort(),
      Object.keys(volumes).sort(),
      schedule?.cron ?? null,
    ]),
  ).toEqual(
    [...model.deployments.keys()].sort().map((name) => {
      const { env, mounts, cron } = servingOf(model, name);
      return [name, Object.keys(env).sort(), mounts.map((volume) => `/mnt/${volume}`).sort(), cron];
    }),
  );
  for (const name of model.deployments.keys()) await agreeOn(model, system, name);
  if (!controlPlane.capabilities().secrets.supported) return;
  const secrets = (await call(controlPlane.listSecrets(principal)))._unsafeUnwrap();
  const versions = [...model.secrets]
    .filter(([, { values }]) => values.size > 0)
    .map(([name, { values }]) => [name, [...values.keys()].sort((a, b) => b - a)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  expect(secrets.map((one) => [one.name, one.versions.map(({ version }) => version)])).toEqual(versions);
};

/** Adds the release that a command made. Its number must be new and the highest of its deployment. */
export const addRelease = async (
  model: ReleaseModel,
  { controlPlane, principal, call }: ReleaseSystem,
  name: string,
  content: Content,
  rolledBackTo: number | null = null,
): Promise<void> => {
  const page = (await call(controlPlane.listReleases(principal, { name, limit: 1 })))._unsafeUnwrap();
  const [newest] = page.releases;
  if (newest === undefined) throw new Error(`'${name}' has no release`);
  const before = model.deployments.get(name) ?? [];
  expect(newest.release).toBeGreaterThan(before.at(-1)?.release ?? 0);
  const id = `${name} ${newest.uid} ${newest.release}`;
  expect(model.seen).not.toContain(id);
  model.seen.add(id);
  model.deployments.set(name, [...before, { ...content, release: newest.release, rolledBackTo }]);
};
