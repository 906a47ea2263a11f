/**
 * A Cloud Build that builds with an engine: google/devtools/cloudbuild/v1/cloudbuild.proto with its comments. It reads
 * the source from the fake storage, streams the log to it, and pushes the image to the fake registry.
 */
import { randomUUID } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { type EngineBuild, formatLifecycle } from "../../engine/builds.ts";
import { Faults } from "../../faults.ts";
import { type AdverseBehaviors, noneAdverse } from "../adverse.ts";
import { GrpcError, type GrpcServer, type Message, messages, serveGrpc } from "../grpc.ts";
import type { StorageWorld } from "../storage/world.ts";

const PACKAGE = "@google-cloud/cloudbuild";
const TYPES = "google.devtools.cloudbuild.v1";

export interface FakeBuildDeps {
  /** Holds the sources and receives the logs. */
  readonly storage: StorageWorld;
  /** Stores an image under its reference and returns its digest. */
  readonly push: (reference: string, engineImage: string) => string;
  readonly build: EngineBuild;
  readonly adverse?: AdverseBehaviors;
}

/** Regions in which every project may build: build/docs/locations#restricted_regions_for_some_projects. */
const OPEN_REGIONS = [
  ...["us-central1", "us-west2", "europe-west1", "asia-east1", "australia-southeast1", "southamerica-east1"],
  "global",
];

/** The lines that Docker's classic builder prints for a Dockerfile that needs BuildKit. */
const NEEDS_BUILDKIT =
  "the --mount option requires BuildKit. Refer to https://docs.docker.com/go/buildkit/ to learn how to build images with BuildKit enabled";

interface Running {
  readonly build: Message;
  readonly abort: AbortController;
  readonly log: string[];
}

const ENDED = ["SUCCESS", "FAILURE", "INTERNAL_ERROR", "TIMEOUT", "CANCELLED", "EXPIRED"];

const invalid = (message: string): never => {
  throw new GrpcError("INVALID_ARGUMENT", message);
};

export class FakeBuild {
  readonly faults = new Faults();
  /** If set, every build ends with this outcome without building. Simulates failures that an engine cannot produce. */
  outcome: Message | undefined;
  readonly #deps: FakeBuildDeps;
  readonly #adverse: AdverseBehaviors;
  readonly #builds = new Map<string, Running>();
  readonly #messages = messages(PACKAGE);

  constructor(deps: FakeBuildDeps) {
    this.#deps = deps;
    this.#adverse = deps.adverse ?? noneAdverse;
  }

  /** All builds ever started, oldest first. */
  get builds(): readonly Message[] {
    return [...this.#builds.values()].map(({ build }) => build);
  }

  async open(): Promise<GrpcServer> {
    const handlers = {
      CreateBuild: (request: Message) => this.#create(request),
      GetBuild: ({ name, id }: Message) => this.#find(id || String(name).split("/").at(-1)).build,
      ListBuilds: ({ filter }: Message) => this.#list(filter),
      CancelBuild: ({ name, id }: Message) => this.#cancel(id || String(name).split("/").at(-1)),
    };
    return serveGrpc(PACKAGE, { [`${TYPES}.CloudBuild`]: handlers }, this.faults);
  }

  close(): void {
    for (const { abort } of this.#builds.values()) abort.abort();
  }

  #find(id: string): Running {
    const running = this.#builds.get(id);
    if (running === undefined) throw new GrpcError("NOT_FOUND", "Requested entity was not found.");
    return running;
  }

  #create({ parent, projectId, build: given }: Message): Message {
    if (!projectId || !given) invalid("project_id and build are required");
    if ((given.steps ?? []).length === 0) invalid("build.steps: at least one");
    // "you must store build logs in Cloud Logging or in a user-created bucket":
    // build/docs/securing-builds/configure-user-specified-service-accounts.
    const { logging } = given.options ?? {};
    if (given.serviceAccount && !given.logsBucket && logging !== "CLOUD_LOGGING_ONLY" && logging !== "NONE")
      invalid("if 'build.service_account' is specified, the build must have a logs bucket or another kind of logging");
    const region = String(parent).split("/").at(-1) ?? "";
    if (this.#adverse.has("build_regions_restricted") && !OPEN_REGIONS.includes(region))
      throw new GrpcError(
        "FAILED_PRECONDITION",
        "failed precondition: due to quota restrictions, Cloud Build cannot run builds in this region, see https://cloud.google.com/build/docs/locations#restricted_regions_for_some_projects",
      );
    const id = randomUUID();
    const build = this.#messages.received(`${TYPES}.Build`, given);
    Object.assign(build, { id, name: `${parent}/builds/${id}`, projectId, status: "QUEUED" });
    const running: Running = { build, abort: new AbortController(), log: [] };
    this.#builds.set(id, running);
    void this.#run(running);
    return {
      name: `operations/build/${projectId}/${id}`,
      metadata: this.#messages.any(`${TYPES}.BuildOperationMetadata`, { build }),
    };
  }

  /**
   * Supports `tags="..."` of the filter syntax: build/docs/view-build-results#filtering_build_results_using_queries.
   */
  #list(filter: string): Message {
    const tag = /^tags="([^"]+)"$/.exec(filter)?.[1];
    if (tag === undefined) return invalid(`filter: '${filter}'`);
    // "Builds will be sorted by create_time, descending".
    return { builds: this.builds.filter(({ tags }) => tags.includes(tag)).reverse() };
  }

  #cancel(id: string): Message {
    const { build, abort } = this.#find(id);
    // Assumption: a build that has ended cannot be cancelled.
    if (ENDED.includes(build.status)) throw new GrpcError("FAILED_PRECONDITION", "The build has finished already.");
    build.status = "CANCELLED";
    abort.abort();
    return build;
  }

  async #run(running: Running): Promise<void> {
    const { build, abort } = running;
    const say = (line: string) => running.log.push(line);
    const bucket = String(build.logsBucket).replace(/^gs:\/\//, "");
    const [name = "", ...folder] = bucket.split("/");
    const object = [...folder, `log-${build.id}.txt`].join("/");
    const { storage } = this.#deps;
    const write = () => {
      const bytes = Buffer.from(running.log.map((line) => `${line}\n`).join(""));
      storage.putObject(storage.bucket(name), { name: object, bytes });
    };
    // Cloud Build appends to the object while it builds (STREAM_ON).
    const timer = setInterval(write, 50);
    build.status = "WORKING";
    say(`starting build "${build.id}"`);
    const end = await this.#outcome(build, say, abort.signal).catch((error: Error): Message => {
      say(`ERROR: ${error.message}`);
      return { status: "INTERNAL_ERROR" };
    });
    clearInterval(timer);
    say(end.status === "SUCCESS" ? "DONE" : "ERROR");
    write();
    if (build.status === "WORKING") Object.assign(build, end);
  }

  async #outcome(build: Message, say: (line: string) => void, signal: AbortSignal): Promise<Message> {
    const { bucket, object } = build.source?.storageSource ?? {};
    const archive = this.#deps.storage.live.get(bucket)?.objects.get(object)?.bytes;
    const failed = (type: string, more: Message = {}) => ({ status: "FAILURE", failureInfo: { type }, ...more });
    if (archive === undefined) return failed("FETCH_SOURCE_FAILED");
    if (this.outcome !== undefined) return this.outcome;
    const [step] = build.steps;
    const steps = [{ ...step, status: "FAILURE", exitCode: 1 }];
    if (step.name.endsWith("/docker")) {
      const hasBuildKit =
        (step.env ?? []).includes("DOCKER_BUILDKIT=1") || !this.#adverse.has("docker_without_buildkit");
      if (!hasBuildKit && gunzipSync(archive).includes("RUN --mount")) {
        say(NEEDS_BUILDKIT);
        return failed("USER_BUILD_STEP", { steps });
      }
      // There is no container engine here, so the fake cannot build Docker images.
      say("ERROR: this fake has no Docker");
      return failed("USER_BUILD_STEP", { steps });
    }
    const built = await this.#deps.build(archive, say, signal);
    if ("failure" in built) {
      for (const line of formatLifecycle(built.failure)) say(line);
      return failed("USER_BUILD_STEP", { steps });
    }
    const images = build.images.map((name: string) => ({ name, digest: this.#deps.push(name, built.image) }));
    return { status: "SUCCESS", results: { images } };
  }
}
