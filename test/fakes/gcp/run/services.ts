/**
 * A Cloud Run that stores services and runs them on an engine, compatible with the official client:
 * run/v2/service.proto, revision.proto and condition.proto with their comments. Behaviour without a source is marked as
 * an assumption.
 */
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { createSystemClock } from "../../../../adapters/shared/runtime/system.ts";
import { healthLimits } from "../../../../core/domain/deploy/health.ts";
import { parseMemory } from "../../../../core/domain/deploy/resources.ts";
import { millisOf } from "../../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../../core/ports/system.ts";
import type { EngineRevision, RunEngine } from "../../engine/engine.ts";
import { Faults } from "../../faults.ts";
import { type AdverseBehaviors, noneAdverse, PROPAGATION_MS } from "../adverse.ts";
import { GrpcError, type GrpcServer, type Handlers, type Message, messages, serveGrpc } from "../grpc.ts";
import type { FakeSecrets } from "../secrets/server.ts";
import { openFrontEnd } from "./front-end.ts";
import { checkQuota, checkService, checkServiceId, type RegionQuota } from "./validation.ts";

const PACKAGE = "@google-cloud/run";
const SERVICE = "google.cloud.run.v2.Service";
const LATEST = "TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST";
const BY_NAME = "TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION";
const DEFAULT_PAGE = 100;

type RevisionState = "pending" | "ready" | "failed";

interface Revision {
  readonly id: string;
  readonly template: Message;
  readonly createTime: Message;
  state: RevisionState;
  /** The reason field of its condition, if it failed. */
  reason: Message;
  starting: Promise<void> | undefined;
}

interface Stored {
  readonly id: string;
  readonly name: string;
  readonly uid: string;
  readonly createTime: Message;
  updateTime: Message;
  etag: string;
  generation: number;
  /** The generation up to which Cloud Run has reconciled. */
  settled: number;
  /** The generation that Cloud Run reports as observed. */
  observed: number;
  /** Cloud Run's conditions when it last finished reconciling. */
  conditions: readonly Message[];
  /** The desired state. */
  wanted: Message;
  readonly revisions: Map<string, Revision>;
  latestCreated: string;
  latestReady: string;
  /** The actual traffic. */
  traffic: { revision: string; percent: number }[];
  uri: string;
  failure: Message | undefined;
  policy: Message;
  /** When the service becomes public, in milliseconds since the epoch; undefined while it is private. */
  publicAt: number | undefined;
  isDeleted: boolean;
  change: PromiseWithResolvers<void>;
  /** Operations that end once their generation is observed. */
  readonly operations: { readonly name: string; readonly generation: number }[];
}

export interface FakeRunDeps {
  readonly engine: RunEngine;
  /** The engine's name for an image reference; undefined if the image does not exist. */
  readonly resolveImage: (reference: string) => string | undefined;
  /** Defaults to the machine's. */
  readonly clock?: Pick<Clock, "now">;
  /** Defaults to no adverse behaviour. */
  readonly adverse?: AdverseBehaviors;
  /** Whether services may run as a service account; defaults to true for every account. */
  readonly actsAs?: (email: string) => boolean;
  /** Whether a service account may use a bucket; defaults to true for every account and bucket. */
  readonly mayMount?: (email: string, bucket: string) => boolean;
  /** The value of a version of a secret for a service account; defaults to no secrets. */
  readonly resolveSecret?: FakeSecrets["resolve"];
  /** Receives Cloud Run's own lines about a revision. */
  readonly onSystemLine?: (service: string, revision: string, text: string) => void;
}

const lastPart = (name: string): string => name.split("/").at(-1) ?? "";

/** Fields that a mask may name; others are output only or unknown: INVALID_ARGUMENT (https://google.aip.dev/134). */
const MUTABLE = [
  "annotations",
  "client",
  "client_version",
  "description",
  "ingress",
  "invoker_iam_disabled",
  "labels",
  "scaling",
  "template",
  "traffic",
];
const fieldOf = (path: string): string => path.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

export class FakeRun {
  readonly faults = new Faults();
  /** Unlimited by default. A new project has 20 CPU and 40 GiB. */
  quota: RegionQuota = { cpu: Number.POSITIVE_INFINITY, memory: Number.POSITIVE_INFINITY };
  readonly #deps: FakeRunDeps;
  readonly #services = new Map<string, Stored>();
  readonly #operations = new Map<string, Message>();
  readonly #messages = messages(PACKAGE);
  readonly #adverse: AdverseBehaviors;
  readonly #clock: Pick<Clock, "now">;
  /** The times of the writes in the last minute, in milliseconds since the epoch. */
  #writes: number[] = [];
  readonly #frontEnds: { close(): void }[] = [];
  #counter = 0;
  #server: GrpcServer | undefined;

  constructor(deps: FakeRunDeps) {
    this.#deps = deps;
    this.#adverse = deps.adverse ?? noneAdverse;
    this.#clock = deps.clock ?? createSystemClock();
  }

  async open(): Promise<GrpcServer> {
    const services = { "google.cloud.run.v2.Services": this.#servicesApi() };
    const revisions = {
      "google.cloud.run.v2.Revisions": {
        GetRevision: this.#getRevision,
        ListRevisions: this.#listRevisions,
        DeleteRevision: this.#deleteRevision,
      },
    };
    const operations = { "google.longrunning.Operations": { GetOperation: this.#getOperation } };
    this.#server = await serveGrpc(PACKAGE, { ...services, ...revisions, ...operations }, this.faults);
    return this.#server;
  }

  async close(): Promise<void> {
    for (const stored of this.#services.values()) {
      stored.isDeleted = true;
      stored.change.resolve();
    }
    this.#server?.close();
    for (const { close } of this.#frontEnds) close();
  }

  /** Names of the existing services. */
  names(): string[] {
    return [...this.#services.values()].map(({ id }) => id);
  }

  /** A service's current state, for assertions and manual changes; undefined if it does not exist. */
  stored(id: string): Message | undefined {
    const stored = [...this.#services.values()].find((one) => one.id === id);
    return stored && this.#view(stored);
  }

  /** The revisions of a service, oldest first, for assertions. */
  revisions(id: string): { readonly id: string; readonly template: Message }[] {
    const stored = [...this.#services.values()].find((one) => one.id === id);
    return [...(stored?.revisions.values() ?? [])].map((one) => ({ id: one.id, template: one.template }));
  }

  /** A manual change, as from the console. */
  async edit(id: string, change: (wanted: Message) => void): Promise<void> {
    const stored = [...this.#services.values()].find((one) => one.id === id) as Stored;
    const service = { ...structuredClone(stored.wanted), name: stored.name };
    change(service);
    this.#update({ service });
  }

  #servicesApi(): Handlers {
    return {
      CreateService: (request) => this.#create(request),
      GetService: ({ name }) => this.#view(this.#find(name)),
      ListServices: (request) => this.#list(request),
      UpdateService: (request) => this.#update(request),
      DeleteService: (request) => this.#delete(request),
      GetIamPolicy: ({ resource }) => this.#find(resource).policy,
      SetIamPolicy: (request) => this.#setPolicy(request),
    };
  }

  #find(name: string): Stored {
    const stored = this.#services.get(name);
    if (stored === undefined) throw new GrpcError("NOT_FOUND", `Resource '${lastPart(name)}' was not found`);
    return stored;
  }

  #now(): number {
    return millisOf(this.#clock.now());
  }

  #timestamp(): Message {
    const millis = this.#now();
    return { seconds: String(Math.floor(millis / 1000)), nanos: (millis % 1000) * 1_000_000 };
  }

  /** https://docs.cloud.google.com/run/quotas: "Write requests". */
  #countWrite(): void {
    if (!this.#adverse.has("run_write_quota")) return;
    this.#writes = this.#writes.filter((at) => at > this.#now() - 60_000);
    if (this.#writes.length >= 60)
      throw new GrpcError(
        "RESOURCE_EXHAUSTED",
        "Quota exceeded for quota metric 'Write requests' and limit 'Write requests per minute per region' of service 'run.googleapis.com'.",
      );
    this.#writes.push(this.#now());
  }

  /** The text is quoted in https://github.com/GoogleCloudPlatform/cloud-run-release-manager/issues/81. */
  #checkIdentity({ template }: Message): void {
    const email = template?.serviceAccount;
    if (email && this.#deps.actsAs?.(email) === false)
      throw new GrpcError(
        "PERMISSION_DENIED",
        `Permission 'iam.serviceaccounts.actAs' denied on service account ${email} (or it may not exist).`,
      );
  }

  #checkInvoker({ invokerIamDisabled }: Message): void {
    if (invokerIamDisabled && this.#adverse.has("invoker_check_required"))
      throw new GrpcError(
        "FAILED_PRECONDITION",
        "Operation denied by org policy: the constraint constraints/run.managed.requireInvokerIam is enforced.",
      );
  }

  #nextEtag(): string {
    return `"${++this.#counter}"`;
  }

  #create({ parent, serviceId, service, validateOnly }: Message): Message {
    this.#countWrite();
    checkServiceId(serviceId ?? "");
    const name = `${parent}/services/${serviceId}`;
    if (this.#services.has(name)) throw new GrpcError("ALREADY_EXISTS", `Resource '${serviceId}' already exists.`);
    const wanted = this.#normal(service ?? {});
    this.#checkIdentity(wanted);
    this.#checkInvoker(wanted);
    const stored: Stored = {
      id: serviceId,
      name,
      uid: randomUUID(),
      createTime: this.#timestamp(),
      updateTime: this.#timestamp(),
      etag: this.#nextEtag(),
      generation: 1,
      settled: 0,
      observed: 0,
      conditions: [],
      wanted,
      revisions: new Map(),
      latestCreated: "",
      latestReady: "",
      traffic: [],
      uri: "",
      failure: undefined,
      policy: { etag: Buffer.from(this.#nextEtag()), bindings: [] },
      publicAt: undefined,
      isDeleted: false,
      change: Promise.withResolvers(),
      operations: [],
    };
    this.#revise(stored, wanted, undefined);
    // Assumption: the operation of a request that is only validated has ended.
    if (validateOnly) return { name: `${parent}/operations/${randomUUID()}`, done: true };
    this.#services.set(name, stored);
    void this.#reconcile(stored);
    return this.#operation(stored);
  }

  #update({ service, updateMask }: Message): Message {
    this.#countWrite();
    const stored = this.#find(service.name);
    // A stale etag: ABORTED (https://google.aip.dev/154; assumption: Cloud Run follows it).
    if (service.etag && service.etag !== stored.etag)
      throw new GrpcError("ABORTED", `Conflict for resource '${stored.id}': version '${service.etag}' was specified`);
    const paths: string[] = updateMask?.paths ?? MUTABLE;
    for (const path of paths)
      if (!MUTABLE.includes(path)) throw new GrpcError("INVALID_ARGUMENT", `update_mask: '${path}'`);
    const given = this.#normal(service);
    const fields = Object.fromEntries(paths.map((path) => [fieldOf(path), given[fieldOf(path)]]));
    const wanted = { ...stored.wanted, ...fields };
    if (paths.includes("template")) this.#checkIdentity(wanted);
    this.#checkInvoker(wanted);
    this.#revise(stored, wanted, stored.wanted);
    stored.generation += 1;
    stored.etag = this.#nextEtag();
    stored.updateTime = this.#timestamp();
    this.#wake(stored);
    return this.#operation(stored);
  }

  /** Applies the desired state. A changed template creates a revision, whose name must be new. */
  #revise(stored: Stored, wanted: Message, before: Message | undefined): void {
    const template = wanted.template ?? {};
    const changed = before === undefined || !isDeepStrictEqual(template, before.template);
    // "If this field is omitted, it will be automatically generated based on the Service name":
    // revision_template.proto.
    const number = String(stored.generation + 1).padStart(5, "0");
    const id: string = template.revision || `${stored.id}-${number}-gen`;
    checkService(stored.id, wanted, new Set([...stored.revisions.keys(), id]), this.#adverse);
    checkQuota(wanted, this.quota);
    stored.wanted = wanted;
    if (!changed) return;
    if (stored.revisions.has(id))
      // https://github.com/hashicorp/terraform-provider-google/issues/14569
      throw new GrpcError("ALREADY_EXISTS", `Revision named '${id}' with different configuration already exists.`);
    const createTime = this.#timestamp();
    stored.revisions.set(id, { id, template, createTime, state: "pending", reason: {}, starting: undefined });
    stored.latestCreated = id;
  }

  #wake(stored: Stored): void {
    const { resolve } = stored.change;
    stored.change = Promise.withResolvers();
    resolve();
  }

  #normal(service: Message): Message {
    const normal = this.#messages.received(SERVICE, service);
    return Object.fromEntries(MUTABLE.map((path) => [fieldOf(path), normal[fieldOf(path)]]));
  }

  /** Moves the actual state to the desired one, after every change: "reconciliation" in service.proto. */
  async #reconcile(stored: Stored): Promise<void> {
    while (!stored.isDeleted) {
      const { generation, change } = stored;
      const revision = stored.revisions.get(stored.latestCreated) as Revision;
      revision.starting ??= this.#start(stored, revision);
      await Promise.race([revision.starting, change.promise]);
      if (stored.generation !== generation || stored.isDeleted) continue;
      if (revision.state === "ready") stored.latestReady = revision.id;
      stored.failure = revision.state === "failed" ? this.#revisionFailed(revision) : undefined;
      await this.#route(stored);
      if (stored.generation !== generation || stored.isDeleted) continue;
      stored.settled = generation;
      stored.conditions = this.#conditions(stored);
      if (stored.failure === undefined || !this.#adverse.has("failure_stays_unobserved")) stored.observed = generation;
      // Assumption: progress reports are writes too, and change the etag.
      stored.etag = this.#nextEtag();
      this.#endOperations(stored);
      await change.promise;
    }
  }

  async #start(stored: Stored, revision: Revision): Promise<void> {
    const image = this.#deps.resolveImage(revision.template.containers[0].image);
    if (image === undefined) {
      revision.state = "failed";
      revision.reason = { reason: "CONTAINER_MISSING" };
      return;
    }
    const secrets = this.#secretsOf(revision);
    if (secrets === undefined) {
      revision.state = "failed";
      revision.reason = { reason: "SECRETS_ACCESS_CHECK_FAILED" };
      return;
    }
    const listens =
      this.#mounts(stored, revision) &&
      (await this.#deps.engine.start(engineRevision(stored.id, revision, image, secrets)));
    revision.state = listens ? "ready" : "failed";
    if (!listens) revision.reason = { revisionReason: "HEALTH_CHECK_CONTAINER_ERROR" };
    stored.uri ||= await this.#uriOf(stored);
  }

  /**
   * The values of the variables that refer to secrets; undefined if the service account cannot read one. "During service
   * deployment, Cloud Run checks all the secrets you use": docs/configuring/services/secrets.
   */
  #secretsOf({ template }: Revision): Readonly<Record<string, string>> | undefined {
    const values: Record<string, string> = {};
    for (const { name, valueSource } of template.containers[0].env) {
      const reference = valueSource?.secretKeyRef;
      if (reference == null) continue;
      const resolved = this.#deps.resolveSecret?.(template.serviceAccount, reference.secret, reference.version);
      if (resolved === undefined || "problem" in resolved) return undefined;
      values[name] = resolved.value;
    }
    return values;
  }

  /** False if a bucket cannot be mounted. Assumption: the wording of the log line. */
  #mounts({ id: service }: Stored, { id, template }: Revision): boolean {
    const buckets: string[] = (template.volumes ?? []).flatMap(({ gcs }: Message) => gcs?.bucket ?? []);
    const refused = buckets.find((bucket) => this.#deps.mayMount?.(template.serviceAccount, bucket) === false);
    if (refused === undefined) return true;
    this.#deps.onSystemLine?.(
      service,
      id,
      `Application failed to start: mounting the Cloud Storage bucket ${refused} failed: Error 403: ${template.serviceAccount} does not have storage.objects.list access to the Google Cloud Storage bucket., forbidden`,
    );
    return false;
  }

  async #uriOf(stored: Stored): Promise<string> {
    const url = await this.#deps.engine.url(stored.id);
    if (url === "" || !this.#adverse.has("public_access_late")) return url;
    const frontEnd = await openFrontEnd(url, () => stored.publicAt !== undefined && stored.publicAt <= this.#now());
    this.#frontEnds.push(frontEnd);
    return frontEnd.url;
  }

  /** "If traffic is empty or not provided, defaults to 100% traffic to the latest `Ready` Revision": service.proto. */
  async #route(stored: Stored): Promise<void> {
    const targets: Message[] =
      stored.wanted.traffic.length > 0 ? stored.wanted.traffic : [{ type: LATEST, percent: 100 }];
    const routed = targets
      .filter(({ percent }) => percent > 0)
      .map(({ type, revision, percent }) => ({ revision: type === LATEST ? stored.latestReady : revision, percent }));
    const allReady = routed.every(({ revision }) => stored.revisions.get(revision)?.state === "ready");
    // If a target is not ready, traffic stays where it was.
    if (!allReady) return;
    const [first] = routed;
    if (this.#isPublic(stored)) await this.#deps.engine.serve(stored.id, first?.revision ?? "");
    stored.traffic = routed;
  }

  /**
   * Without `run.invoker` for allUsers, and with the Invoker IAM check, Cloud Run responds with 403:
   * docs/authenticating/public. In this case, the fake routes no requests to the service.
   */
  #isPublic(stored: Stored): boolean {
    const bindings: Message[] = stored.policy.bindings ?? [];
    const isPublic =
      stored.wanted.invokerIamDisabled ||
      bindings.some(({ role, members }) => role === "roles/run.invoker" && members?.includes("allUsers"));
    stored.publicAt = isPublic ? (stored.publicAt ?? this.#now() + PROPAGATION_MS) : undefined;
    return isPublic;
  }

  async #setPolicy({ resource, policy }: Message): Promise<Message> {
    const stored = this.#find(resource);
    const members = (policy.bindings ?? []).flatMap((binding: Message) => binding.members ?? []);
    if (members.includes("allUsers") && this.#adverse.has("all_users_forbidden"))
      // https://github.com/terraform-google-modules/terraform-example-foundation/issues/1454
      throw new GrpcError(
        "FAILED_PRECONDITION",
        "One or more users named in the policy do not belong to a permitted customer.",
      );
    // google/iam/v1/policy.proto, `etag`: a write with a stale policy is rejected.
    if (policy.etag?.length > 0 && !Buffer.from(policy.etag).equals(stored.policy.etag))
      throw new GrpcError("ABORTED", "There were concurrent policy changes.");
    stored.policy = { ...policy, etag: Buffer.from(this.#nextEtag()) };
    const [serving] = stored.traffic;
    if (serving !== undefined && this.#isPublic(stored)) await this.#deps.engine.serve(stored.id, serving.revision);
    return stored.policy;
  }

  #delete({ name, etag }: Message): Message {
    const stored = this.#find(name);
    if (etag && etag !== stored.etag) throw new GrpcError("ABORTED", `Conflict for resource '${stored.id}'`);
    stored.isDeleted = true;
    this.#wake(stored);
    const operation = this.#operation(stored);
    // Assumption: the service exists until the operation has ended, and not afterwards.
    void this.#deps.engine.remove(stored.id).then(() => {
      this.#services.delete(name);
      this.#endOperations(stored);
    });
    return operation;
  }

  #list({ parent, pageSize, pageToken }: Message): Message {
    // "Results are sorted by creation time, descending"; "cannot be the '-' wildcard": service.proto.
    if (parent.endsWith("/-")) throw new GrpcError("INVALID_ARGUMENT", "parent: a region is needed");
    const all = [...this.#services.values()].filter((one) => one.name.startsWith(`${parent}/services/`)).reverse();
    const from = Number(pageToken || 0);
    const size = pageSize || DEFAULT_PAGE;
    const services = all.slice(from, from + size).map((one) => this.#view(one));
    return { services, nextPageToken: from + size < all.length ? String(from + size) : "" };
  }

  /** Finds a revision with its service. */
  #findRevision(name: string): { stored: Stored; revision: Revision } {
    const [service = ""] = name.split("/revisions/");
    const stored = this.#find(service);
    const revision = stored.revisions.get(lastPart(name));
    if (revision === undefined) throw new GrpcError("NOT_FOUND", `Resource '${lastPart(name)}' was not found`);
    return { stored, revision };
  }

  #revisionView({ name: service }: Stored, revision: Revision): Message {
    const conditions = [this.#condition("Ready", revision)];
    const name = `${service}/revisions/${revision.id}`;
    return { ...revision.template, name, service, createTime: revision.createTime, conditions };
  }

  readonly #getRevision = ({ name }: Message): Message => {
    const { stored, revision } = this.#findRevision(name);
    return this.#revisionView(stored, revision);
  };

  /** "Results are sorted by creation time, descending": revision.proto. */
  readonly #listRevisions = ({ parent, pageSize, pageToken }: Message): Message => {
    const stored = this.#find(parent);
    const all = [...stored.revisions.values()].reverse();
    const from = Number(pageToken || 0);
    const to = from + (pageSize || DEFAULT_PAGE);
    const revisions = all.slice(from, to).map((one) => this.#revisionView(stored, one));
    return { revisions, nextPageToken: to < all.length ? String(to) : "" };
  };

  /** The documentation lists the revisions that cannot be deleted: docs/managing/revisions. */
  readonly #deleteRevision = ({ name }: Message): Message => {
    this.#countWrite();
    const { stored, revision } = this.#findRevision(name);
    const { id } = revision;
    const targets = [...stored.wanted.traffic, ...stored.traffic].map((target: Message) => target.revision);
    if (targets.includes(id) || stored.latestCreated === id || stored.latestReady === id)
      throw new GrpcError("FAILED_PRECONDITION", `Revision '${id}' can receive traffic or is the latest one.`);
    stored.revisions.delete(id);
    return { name: `${stored.name.split("/services/")[0]}/operations/${randomUUID()}`, done: true };
  };

  #condition(type: string, { state, reason }: Revision): Message {
    const states = { pending: "CONDITION_RECONCILING", ready: "CONDITION_SUCCEEDED", failed: "CONDITION_FAILED" };
    return { type, state: states[state], ...reason };
  }

  #revisionFailed({ id, reason }: Revision): Message {
    const message = `Revision '${id}' is not ready and cannot serve traffic.`;
    return { type: "Ready", state: "CONDITION_FAILED", message, ...reason };
  }

  #operation(stored: Stored): Message {
    const name = `${stored.name.split("/services/")[0]}/operations/${randomUUID()}`;
    this.#operations.set(name, { name, done: false });
    stored.operations.push({ name, generation: stored.generation });
    return { name, done: false, metadata: this.#messages.any(SERVICE, this.#view(stored)) };
  }

  #endOperations(stored: Stored): void {
    for (const { name } of stored.operations.splice(0)) {
      // https://github.com/transparency-dev/tesseract/issues/413: "Error code 9".
      const error = stored.failure && { code: 9, message: stored.failure.message };
      const metadata = this.#messages.any(SERVICE, this.#view(stored));
      this.#operations.set(name, { name, done: true, metadata, ...(error ? { error } : { response: metadata }) });
    }
  }

  readonly #getOperation = ({ name }: Message): Message => {
    const operation = this.#operations.get(name);
    if (operation === undefined) throw new GrpcError("NOT_FOUND", "There is no such operation");
    return operation;
  };

  #conditions({ revisions, latestCreated, failure }: Stored): readonly Message[] {
    const routes = { type: "RoutesReady", state: failure?.["state"] ?? "CONDITION_SUCCEEDED" };
    return [routes, this.#condition("ConfigurationsReady", revisions.get(latestCreated) as Revision)];
  }

  /**
   * While Cloud Run reconciles, the terminal condition is pending (without a type for a new service), and the former
   * conditions remain, as in GoogleCloudPlatform/k8s-config-connector's recording
   * `pkg/test/resourcefixture/testdata/basic/run/v1beta1/runservice/runservicebasic/_vcr_cassettes/tf.yaml`.
   */
  #view(stored: Stored): Message {
    const full = (id: string) => (id === "" ? "" : `${stored.name}/revisions/${id}`);
    const reconciling = stored.settled < stored.generation;
    const isHidden = reconciling && this.#adverse.has("empty_while_reconciling");
    const settled = stored.failure ?? { type: "Ready", state: "CONDITION_SUCCEEDED" };
    const pending = { ...(stored.settled === 0 ? {} : { type: "Ready" }), state: "CONDITION_PENDING" };
    return {
      ...structuredClone(stored.wanted),
      name: stored.name,
      uid: stored.uid,
      generation: String(stored.generation),
      observedGeneration: String(stored.observed),
      createTime: stored.createTime,
      updateTime: stored.updateTime,
      etag: stored.etag,
      reconciling,
      terminalCondition: reconciling ? pending : settled,
      conditions: reconciling ? stored.conditions : this.#conditions(stored),
      latestCreatedRevision: full(stored.latestCreated),
      latestReadyRevision: full(stored.latestReady),
      trafficStatuses: (isHidden ? [] : stored.traffic).map(({ revision: id, percent }) => ({
        type: BY_NAME,
        revision: id,
        percent,
      })),
      uri: isHidden ? "" : stored.uri,
    };
  }
}

/** The HTTP probes of a container. Assumption: without a liveness probe, a running instance is never replaced. */
const healthOf = ({ startupProbe: startup, livenessProbe: liveness }: Message): Pick<EngineRevision, "health"> => {
  if (startup?.httpGet == null) return {};
  const { path, httpHeaders } = startup.httpGet;
  const host = httpHeaders.find(({ name }: Message) => name === "Host")?.value;
  return {
    health: {
      path: path || "/",
      interval: liveness?.periodSeconds ?? healthLimits.interval.max,
      timeout: startup.timeoutSeconds,
      failures: liveness?.failureThreshold ?? Number.MAX_SAFE_INTEGER,
      ...(host === undefined ? {} : { host }),
    },
  };
};

/** The engine's view of a revision. */
const engineRevision = (
  service: string,
  { id, template }: Revision,
  image: string,
  secrets: Readonly<Record<string, string>>,
): EngineRevision => {
  const [container] = template.containers;
  const probe = container.startupProbe;
  const volumes = new Map<string, Message>((template.volumes ?? []).map((volume: Message) => [volume.name, volume]));
  const declared = container.env.map(({ name, value }: Message) => [name, value ?? ""]);
  return {
    service,
    revision: id,
    image,
    port: container.ports[0]?.containerPort ?? 8080,
    // Cloud Run adds K_SERVICE, K_REVISION and K_CONFIGURATION (docs/container-contract#env-vars); an engine adds its
    // own.
    env: { ...Object.fromEntries(declared), ...secrets },
    memory: parseMemory(container.resources?.limits?.memory ?? "512Mi") ?? 0,
    cpu: Number(container.resources?.limits?.cpu ?? 1),
    timeout: Number(template.timeout?.seconds ?? 300),
    concurrency: template.maxInstanceRequestConcurrency || 80,
    maxInstances: template.scaling?.maxInstanceCount || 100,
    sessionAffinity: template.sessionAffinity,
    http2: container.ports[0]?.name === "h2c",
    mounts: container.volumeMounts.flatMap(({ name, mountPath }: Message) => {
      const gcs = volumes.get(name)?.gcs;
      const folder = gcs?.mountOptions.find((one: string) => one.startsWith("only-dir="))?.slice("only-dir=".length);
      const place = { path: mountPath, bucket: gcs?.bucket, readOnly: gcs?.readOnly };
      return gcs == null ? [] : [folder === undefined ? place : { ...place, subPath: folder }];
    }),
    // "failureThreshold * periodSeconds": docs/configuring/healthchecks; the default probe has 240 s.
    listenMillis: 1000 * (probe == null ? 240 : probe.failureThreshold * probe.periodSeconds),
    ...healthOf(container),
  };
};
