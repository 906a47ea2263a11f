/** The local ServicePlatform. The state stores the services, and the engine runs them. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { freedNameDays } from "../../../core/domain/accounts/limits.ts";
import { keptImages, prunedImages } from "../../../core/domain/deploy/releases/retention.ts";
import type { Service } from "../../../core/domain/deploy/service-template.ts";
import type { NewLogEntry } from "../../../core/domain/logs/entry.ts";
import { type CronJob, cronJobOf } from "../../../core/domain/schedules/cron-job.ts";
import type { LastFire } from "../../../core/domain/schedules/fire-policy.ts";
import { writeConflict } from "../../../core/domain/volumes/write-condition.ts";
import { plusMillis, timestampOf } from "../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import { conflict, notFound, type Unavailable, unavailable } from "../../../core/errors.ts";
import type { NameState, RolloutEvent, RolloutRequest, ServicePlatform } from "../../../core/ports/service-platform.ts";
import type { CallOptions, Clock, Logger } from "../../../core/ports/system.ts";
import { err, errAsync, ok, okAsync, type Result, ResultAsync } from "../../../core/result.ts";
import { envDigestsOf } from "../../shared/deploy/env-digests.ts";
import { failed, INTERRUPTED, OWN_BUG } from "../../shared/deploy/rollout-ends.ts";
import { BackgroundTasks } from "../../shared/runtime/background-tasks.ts";
import { streamProgress } from "../../shared/runtime/channel.ts";
import { readOncePerTurn } from "../../shared/runtime/read-once-per-turn.ts";
import { type ImageStore, imageMissing } from "../builds/image-store.ts";
import { MAX_FIRE_SECONDS } from "../capabilities.ts";
import type { Containers } from "../containers/containers.ts";
import type { Engine } from "../engine/engine.ts";
import type { Runner } from "../sandbox/runner.ts";
import type { UserOf } from "../sandbox/users/account-users.ts";
import type { FiredService } from "../schedules/last-fires.ts";
import { guardState } from "../state/database.ts";
import type { DeployRows } from "../state/deploys.ts";
import type { ReleasedImage } from "../state/releases.ts";
import type { ServiceRows, StoredService } from "../state/services.ts";
import type { SettingRows } from "../state/settings.ts";
import { rolloutFailureOf } from "./rollout-failure.ts";

export interface PlatformDeps {
  readonly rows: ServiceRows;
  readonly notes: DeployRows;
  readonly lastFireOf: (service: FiredService) => LastFire | null;
  readonly engine: Engine;
  readonly settings: Pick<SettingRows, "keepPorts">;
  /** Returns the public URL of a service. @param port the service's own port */
  readonly urlOf: (name: DeploymentName, port: number) => string;
  readonly images: ImageStore;
  /** The number of releases per deployment for which the sweep keeps the images. */
  readonly releasesKept: number;
  /** The secret key for the digests of environment variables. */
  readonly digestKey: string;
  readonly runner: Pick<Runner, "kind">;
  readonly containers: Containers | string;
  readonly userOf: UserOf;
  readonly log: (entry: NewLogEntry) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

type Releases = NonNullable<ServicePlatform["releases"]>;
type Instances = NonNullable<ServicePlatform["instances"]>;

/** The pause after a failure of the engine, in milliseconds. */
const RETRY_MS = 1000;

export class LocalPlatform implements ServicePlatform {
  readonly #deps: PlatformDeps;
  readonly #background: BackgroundTasks;
  /** The port of each service, by the service's name. */
  #ports: Readonly<Record<string, number>> = {};
  /** Revisions for which the owner's log already reports the missing image. */
  readonly #reported = new Set<string>();
  /** Listing services checks every image on disk, so concurrent calls share one result. */
  readonly #listOnce = readOncePerTurn((owner: AccountId) => this.#list(owner));

  constructor(deps: PlatformDeps) {
    this.#deps = deps;
    this.#background = new BackgroundTasks(deps.logger);
  }

  /** Serves the stored services. Starts instances only for `minInstances`; other services wait for a request. */
  async open(): Promise<void> {
    for (const stored of this.#deps.rows.all()) this.#noteImage(stored, await this.#lacksImage(stored));
    await this.#apply();
  }

  /** Returns the schedules of all serving revisions. */
  jobs(): CronJob[] {
    return this.#deps.rows.all().flatMap(({ name, serving }) => {
      if (serving === null) return [];
      const url = this.#urlOf(name);
      return cronJobOf(serving.template, url, MAX_FIRE_SECONDS) ?? [];
    });
  }

  /** Resolves when background work, such as drains and sweeps, is done. */
  async settle(): Promise<void> {
    await this.#background.settle();
  }

  find(name: Parameters<ServicePlatform["find"]>[0]): ReturnType<ServicePlatform["find"]> {
    return guardState(() => {
      const { rows, clock } = this.#deps;
      const stored = rows.get(name);
      return stored === undefined
        ? { free: rows.present(name, timestampOf(clock.now())) as NameState }
        : { stored, service: this.#service(stored) };
    }).map(async (found): Promise<NameState> => {
      if ("free" in found) return found.free;
      const { stored, service } = found;
      const held = this.#withImage(stored, service, await this.#lacksImage(stored));
      return { kind: "held", owner: stored.owner, service: held };
    });
  }

  list(owner: AccountId): ReturnType<ServicePlatform["list"]> {
    return new ResultAsync(this.#listOnce(owner));
  }

  rollout(
    request: RolloutRequest,
    { signal = new AbortController().signal }: CallOptions = {},
  ): AsyncIterable<RolloutEvent> {
    return streamProgress<RolloutEvent, RolloutEvent>(async (emit) => {
      try {
        return await this.#rollout(request, signal, (message) => emit({ kind: "progress", message }));
      } catch (cause) {
        const { name } = request.template;
        this.#deps.logger.error("a rollout failed because of the platform", { name, cause });
        return failed(rolloutFailureOf(cause));
      }
    });
  }

  remove(...[name, expected]: Parameters<ServicePlatform["remove"]>): ReturnType<ServicePlatform["remove"]> {
    const { rows, notes, clock } = this.#deps;
    const stored = rows.get(name);
    if (stored === undefined) return errAsync(notFound(`The service '${name}' does not exist.`));
    if (stored.owner !== expected.owner || stored.etag !== expected.etag)
      return errAsync(conflict(`Another call changed '${name}'. Try again.`));
    return guardState(() => {
      rows.remove(name, stored.owner, timestampOf(plusMillis(clock.now(), freedNameDays * 86_400_000)));
      notes.forget(stored.owner, name);
      this.#background.add(this.#apply(), "background work failed");
      return undefined;
    });
  }

  noteDeploy(
    ...[{ name, owner }, outcome]: Parameters<ServicePlatform["noteDeploy"]>
  ): ReturnType<ServicePlatform["noteDeploy"]> {
    return guardState(() => {
      const exists = this.#deps.rows.get(name)?.owner === owner;
      this.#deps.notes.note({ ...outcome, name, owner }, exists);
      return undefined;
    });
  }

  async #rollout(
    { template, expected, origin, listenDeadlineMs, mayServe }: RolloutRequest,
    signal: AbortSignal,
    say: (message: string) => void,
  ): Promise<RolloutEvent> {
    const { rows, images, engine, runner, userOf, clock, logger } = this.#deps;
    const { name } = template;
    const now = () => timestampOf(clock.now());
    const image = images.find(template.image);
    if (image === undefined) return failed(imageMissing);
    const rollout = rows.begin(template, expected, now());
    if ("reason" in rollout) return failed(rollout);
    const { revision, createdAt } = rollout;
    const candidate = { name, createdAt, revision: revision.id };
    // Undoes the steps of a failed rollout, in reverse order.
    await using taken = new AsyncDisposableStack();
    taken.defer(() => this.#abandon(name, revision.id));
    const runnerKind = image.kind === "container" ? image.kind : runner.kind;
    say(`Starting revision ${revision.id} (${runnerKind})`);
    // Assigns a user to the account, because the engine only reads existing assignments.
    userOf(template.owner);
    await this.#apply();
    const startedAt = Date.now();
    taken.defer(() =>
      engine.end(candidate).catch((cause: unknown) => logger.warn("could not end an instance", { name, cause })),
    );
    const failure = await engine.start(candidate, { listenMillis: listenDeadlineMs, signal, say });
    if (failure !== undefined) return failed(failure);
    say(`Listening after ${Date.now() - startedAt} ms`);
    const refused = await mayServe?.();
    if (refused !== undefined) return failed(refused);
    if (signal.aborted) return failed(INTERRUPTED);
    if (!rows.commit(name, revision.id, now(), origin)) {
      // Another write has ended this rollout, so the ETag has changed since the rollout began.
      const present = rows.present(name, now());
      return failed(writeConflict(template.owner, { etag: "", owner: template.owner }, present) ?? OWN_BUG);
    }
    taken.move();
    await this.#applyCommit(name, signal);
    this.#background.add(this.#sweepImages(false), "background work failed");
    return { kind: "ready", revision: revision.id, url: this.#urlOf(name), runner: runnerKind };
  }

  /** Waits until the engine serves the stored services, and stores their ports. */
  async #apply(): Promise<void> {
    const { ports } = await this.#deps.engine.apply();
    this.#ports = ports;
    for (const moved of this.#deps.settings.keepPorts(ports))
      this.#deps.logger.warn("a service has a new port, because another program uses its previous one", {
        ...moved,
      });
  }

  /**
   * Waits until the engine serves a committed revision. The rollout has succeeded even if the engine fails, because the
   * engine serves the stored revision when it can.
   */
  async #applyCommit(name: DeploymentName, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    while (!signal.aborted)
      try {
        return await this.#apply();
      } catch (cause) {
        logger.error("the engine could not serve a new revision; will try again", { name, cause });
        await clock.sleep(RETRY_MS, signal);
      }
  }

  #urlOf(name: DeploymentName): string {
    return this.#deps.urlOf(name, this.#ports[name] ?? 0);
  }

  #abandon(name: DeploymentName, revision: string): void {
    const { rows, clock, logger } = this.#deps;
    try {
      rows.abandon(name, revision, timestampOf(clock.now()));
    } catch (cause) {
      logger.warn("could not store the end of a rollout; the next change stores it", { name, revision, cause });
    }
  }

  /** Returns the images to keep: those of serving, rolling and attempted templates, and those of kept releases. */
  #usedImages(releases: readonly (readonly ReleasedImage[])[]): Set<string> {
    const { rows, releasesKept } = this.#deps;
    const templates = rows
      .all()
      .flatMap(({ serving, rolling, attempted }) => [serving?.template, rolling?.template, attempted])
      .map((template) => template?.image);
    const kept = releases.flatMap((one) => [...keptImages(one, releasesKept)]);
    return new Set([...templates, ...kept].filter((image) => image !== undefined));
  }

  async #sweepImages(atStart: boolean): Promise<ReadonlySet<string>> {
    const { rows, images, releasesKept } = this.#deps;
    const releases = [...Map.groupBy(rows.releases.images(), ({ name }) => name).values()];
    const pruned = releases.flatMap((one) => [...prunedImages(one, releasesKept)]);
    return images.sweep(this.#usedImages(releases), atStart, new Set(pruned));
  }

  async sweepImages(): Promise<ReadonlySet<string>> {
    return this.#sweepImages(true);
  }

  releases(...[service, { newest } = {}]: Parameters<Releases>): ReturnType<Releases> {
    return guardState(() => {
      const stored = this.#deps.rows.get(service.name);
      return stored?.owner === service.owner ? this.#deps.rows.releases.of(service.name, newest) : [];
    }).map(async (releases) => {
      const { releasesKept, digestKey } = this.#deps;
      const kept = keptImages(
        releases.map(({ release, template: { image } }) => ({ release, image })),
        releasesKept,
      );
      return Promise.all(
        releases.map(async (release) => ({
          ...release,
          hasImage: kept.has(release.template.image) && !(await this.#lacks(release.template.image)),
          envDigests: envDigestsOf(release.template, digestKey),
        })),
      );
    });
  }

  instances(...[service]: Parameters<Instances>): ReturnType<Instances> {
    const message =
      "The engine did not list the instances. If it is older than this server, run 'portside upgrade'; otherwise try again.";
    if (this.#deps.rows.get(service.name)?.owner !== service.owner) return okAsync([]);
    return ResultAsync.fromPromise(this.#deps.engine.instances(service), (cause) => unavailable(message, 5, cause));
  }

  #service(stored: StoredService): Service {
    return {
      name: stored.name,
      owner: stored.owner,
      etag: stored.etag,
      serving: stored.serving === null ? [] : [stored.serving],
      rollingOut: stored.rolling?.template ?? null,
      attempted: stored.attempted,
      url: this.#urlOf(stored.name),
      region: "local",
      createdAt: stored.createdAt,
      updatedAt: stored.updatedAt,
      lastDeploy: this.#deps.notes.last(stored.owner, stored.name),
      lastFire: stored.serving?.template.schedule == null ? null : this.#deps.lastFireOf(stored),
    };
  }

  async #list(owner: AccountId): Promise<Result<readonly Service[], Unavailable>> {
    // Awaits the result, because chained methods of `ResultAsync` take longer than all image checks.
    const read = await guardState(() =>
      this.#deps.rows.ofOwner(owner).map((stored) => ({ stored, service: this.#service(stored) })),
    );
    if (read.isErr()) return err(read.error);
    const lacking = await Promise.all(read.value.map(({ stored }) => this.#lacksImage(stored)));
    return ok(
      read.value.map(({ stored, service }, index) => this.#withImage(stored, service, lacking[index] === true)),
    );
  }

  /** Returns whether the image of the serving revision is missing on disk or in the container engine. */
  #lacksImage({ serving }: StoredService): boolean | Promise<boolean> {
    return serving === null ? false : this.#lacks(serving.template.image);
  }

  #lacks(image: string): boolean | Promise<boolean> {
    const { images, containers } = this.#deps;
    const { whole, containerId } = images.inspect(image);
    return containerId === undefined || typeof containers === "string" ? !whole : containers.lacksImage(containerId);
  }

  /** Marks the service as broken if its image is missing. */
  #withImage(stored: StoredService, service: Service, lacksImage: boolean): Service {
    this.#noteImage(stored, lacksImage);
    return lacksImage ? { ...service, broken: "image_not_found" } : service;
  }

  /** Logs a missing image once. */
  #noteImage(stored: StoredService, lacksImage: boolean): void {
    if (stored.serving === null) return;
    const { id } = stored.serving;
    if (!lacksImage) this.#reported.delete(id);
    else if (!this.#reported.has(id)) {
      this.#reported.add(id);
      this.#reportMissingImage(stored, id);
    }
  }

  #reportMissingImage({ owner, name: service }: StoredService, revision: string): void {
    this.#deps.logger.error("a deployment has no image and cannot run", { name: service, revision });
    const json = { event: "image_missing", message: imageMissing.message, reason: imageMissing.reason };
    this.#deps.log({ owner, service, revision, severity: "ERROR", logName: "platform", json });
  }
}
