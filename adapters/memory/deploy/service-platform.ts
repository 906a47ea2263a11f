/** Stores services as documents. Rollouts are simulated, but preconditions and conflicts are real. */

import { randomBytes } from "node:crypto";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { freedNameDays } from "../../../core/domain/accounts/limits.ts";
import { isLastDeploy } from "../../../core/domain/deploy/events.ts";
import type { Expected } from "../../../core/domain/deploy/plan.ts";
import type { Release, ReleasedService, StoredRelease } from "../../../core/domain/deploy/releases/release.ts";
import { keptImages, oldestRecorded } from "../../../core/domain/deploy/releases/retention.ts";
import type { Service, ServiceTemplate } from "../../../core/domain/deploy/service-template.ts";
import { type Present, writeConflict } from "../../../core/domain/volumes/write-condition.ts";
import { type Instant, plusMillis, type Timestamp, timestampOf } from "../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import { conflict, notFound } from "../../../core/errors.ts";
import type { NameState, RolloutEvent, RolloutRequest, ServicePlatform } from "../../../core/ports/service-platform.ts";
import type { CallOptions, Clock, Ids } from "../../../core/ports/system.ts";
import { errAsync, okAsync } from "../../../core/result.ts";
import { scopeKey } from "../../shared/accounts/scope-key.ts";
import { envDigestsOf } from "../../shared/deploy/env-digests.ts";
import { parseRelease, type ReleaseDocument, renderRelease } from "../../shared/deploy/release-document.ts";
import { parseService, renderService } from "../../shared/deploy/service-document.ts";
import type { StoredService, World } from "../world.ts";

/** The URL of a simulated service. Its host name does not resolve (RFC 6761, `.invalid`). */
const urlOf = (name: string): string => `https://${name}.memory.invalid`;

// The cast is safe, because `renderService` created every document in the world.
const read = (document: unknown): ServiceTemplate => parseService(structuredClone(document)) as ServiceTemplate;

// The cast is safe, because `renderRelease` created every release in the world.
const readRelease = (document: ReleaseDocument): Release => parseRelease(structuredClone(document)) as Release;

const serviceOf = (world: World, name: DeploymentName, stored: StoredService): Service => ({
  name,
  owner: stored.owner,
  etag: stored.etag,
  serving: stored.serving === null ? [] : [{ id: stored.serving.id, template: read(stored.serving.document) }],
  rollingOut: stored.rollingOut === null ? null : read(stored.rollingOut),
  attempted: read(stored.attempted),
  url: urlOf(name),
  region: "memory",
  createdAt: stored.createdAt,
  updatedAt: stored.updatedAt,
  lastFire: structuredClone(world.fires.get(scopeKey(stored.owner, name)) ?? null),
  lastDeploy: structuredClone(world.outcomes.get(scopeKey(stored.owner, name)) ?? null),
});

const stateOf = (world: World, name: DeploymentName, now: Instant): NameState => {
  const stored = world.services.get(name);
  if (stored !== undefined) return { kind: "held", owner: stored.owner, service: serviceOf(world, name, stored) };
  const freed = world.freed.get(name);
  return freed !== undefined && freed.until > now ? { kind: "reserved", owner: freed.owner } : { kind: "free" };
};

const presentOf = (state: NameState): Present =>
  state.kind === "held" ? { kind: "held", owner: state.owner, etag: state.service.etag } : state;

const nextEtag = (world: World): string => `m${++world.writes}`;

/** Makes the revision serve, and records its release. */
const commit = (
  world: World,
  stored: StoredService,
  { template, origin }: RolloutRequest,
  revision: string,
  now: Timestamp,
): void => {
  const release = stored.released + 1;
  const recorded = renderRelease({ ...origin, release, uid: stored.uid, revision, createdAt: now, template });
  Object.assign(stored, {
    serving: { id: revision, document: recorded.service },
    etag: nextEtag(world),
    updatedAt: now,
    released: release,
    releases: [recorded, ...stored.releases].filter((one) => one.release >= oldestRecorded(release)),
  });
};

/** Returns the state of a service before its first rollout. If the name is reserved, its numbers continue. */
const newService = (world: World, ids: Ids, template: ServiceTemplate, now: Instant): StoredService => {
  const freed = world.freed.get(template.name);
  const { uid, released } = freed !== undefined && freed.until > now ? freed : { uid: ids.id(), released: 0 };
  return {
    owner: template.owner,
    createdAt: timestampOf(now),
    updatedAt: timestampOf(now),
    etag: "",
    revisions: 0,
    serving: null,
    rollingOut: null,
    attempted: renderService(template),
    uid,
    released,
    releases: [],
  };
};

/** Returns the releases of a service, newest first. */
const releasesOf = (
  world: World,
  { name, owner }: ReleasedService,
  kept: number,
  digestKey: string,
  newest?: number,
): readonly StoredRelease[] => {
  const stored = world.services.get(name);
  if (stored === undefined || stored.owner !== owner) return [];
  const releases = stored.releases.slice(0, newest).map(readRelease);
  const images = keptImages(
    releases.map(({ release, template: { image } }) => ({ release, image })),
    kept,
  );
  return releases.map((release) => ({
    ...release,
    hasImage: images.has(release.template.image),
    envDigests: envDigestsOf(release.template, digestKey),
  }));
};

async function* rollout(
  world: World,
  clock: Clock,
  ids: Ids,
  request: RolloutRequest,
  { signal }: CallOptions,
): AsyncGenerator<RolloutEvent> {
  const { template, expected, mayServe } = request;
  const { name, owner } = template;
  const now = () => timestampOf(clock.now());
  const conflictWith = (seen: Expected) => writeConflict(owner, seen, presentOf(stateOf(world, name, clock.now())));
  const lost = conflictWith(expected);
  if (lost !== undefined) return yield { kind: "failed", failure: lost };
  if (!world.images.has(template.image))
    return yield {
      kind: "failed",
      failure: { reason: "image_not_found", message: `Image ${template.image} does not exist. Build it again.` },
    };
  const document = structuredClone(renderService(template));
  const stored = world.services.get(name) ?? newService(world, ids, template, clock.now());
  const etag = nextEtag(world);
  const id = `${name}-${String(++stored.revisions).padStart(5, "0")}`;
  Object.assign(stored, { etag, rollingOut: document, attempted: document, updatedAt: now() });
  world.services.set(name, stored);
  world.freed.delete(name);
  yield { kind: "progress", message: `Starting revision ${id}` };
  const refused = await mayServe?.();
  const overtaken = conflictWith({ etag, owner });
  if (overtaken !== undefined) return yield { kind: "failed", failure: overtaken };
  stored.rollingOut = null;
  if (refused !== undefined) return yield { kind: "failed", failure: refused };
  if (signal?.aborted === true)
    return yield { kind: "failed", failure: { reason: "interrupted", message: "The rollout was cancelled." } };
  commit(world, stored, request, id, now());
  yield { kind: "ready", revision: id, url: urlOf(name) };
}

/** @param releasesKept the number of releases of a deployment whose images are kept */
export const createMemoryPlatform = (world: World, clock: Clock, ids: Ids, releasesKept: number): ServicePlatform => {
  const digestKey = randomBytes(32).toString("hex");
  return {
    find: (name) => okAsync(stateOf(world, name, clock.now())),

    list: (owner: AccountId) => {
      const own = [...world.services].filter(([, stored]) => stored.owner === owner);
      own.sort(([a], [b]) => (a < b ? -1 : 1));
      return okAsync(own.map(([name, stored]) => serviceOf(world, name as DeploymentName, stored)));
    },

    rollout: (request, options = {}) => rollout(world, clock, ids, request, options),

    releases: (service, { newest } = {}) => okAsync(releasesOf(world, service, releasesKept, digestKey, newest)),

    instances: () => okAsync([]),

    remove: (name, expected) => {
      const stored = world.services.get(name);
      if (stored === undefined) return errAsync(notFound(`The service '${name}' does not exist.`));
      if (stored.owner !== expected.owner || stored.etag !== expected.etag)
        return errAsync(conflict(`Another call changed '${name}'. Try again.`));
      world.services.delete(name);
      world.outcomes.delete(scopeKey(stored.owner, name));
      const until = plusMillis(clock.now(), freedNameDays * 86_400_000);
      const { owner, uid, released } = stored;
      world.freed.set(name, { owner, uid, released, until });
      world.writes++;
      return okAsync(undefined);
    },

    noteDeploy: ({ name, owner }, outcome) => {
      const stored = world.services.get(name);
      const key = scopeKey(owner, name);
      if ((stored === undefined || stored.owner === owner) && isLastDeploy(world.outcomes.get(key) ?? null, outcome))
        world.outcomes.set(key, structuredClone(outcome));
      return okAsync(undefined);
    },
  };
};
