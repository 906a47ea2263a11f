/** The platform's calls to the Cloud Run API, with retries: run/v2/service.proto, revision.proto. */
import type { protos } from "@google-cloud/run";
import { type Instant, plusMillis } from "../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { ListOptions } from "../../../core/ports/service-platform.ts";
import { err, ok, type Result, ResultAsync, safeTry } from "../../../core/result.ts";
import { type CallState, isCallState } from "../../cloud/calls/provider-call.ts";
import { callOptions, type GoogleRuntimeDeps, googleCalls } from "../call-policy.ts";
import type { ClientSource, GcpClients } from "../clients.ts";
import { type GcpLocation, parentOf } from "../location.ts";
import type { AnnotatedRevision } from "./releases/release-record.ts";
import type { RunService } from "./render.ts";
import { idOf, revisionNameOf, serviceNameOf } from "./resource-names.ts";

/** Page size of a list (ListServicesRequest). */
const PAGE_SIZE = 100;

interface KeptList {
  readonly services: readonly RunService[];
  /** When the call began. */
  readonly readAt: Instant;
}

export interface RetryOptions {
  readonly signal?: AbortSignal | undefined;
  /** How long to retry, in milliseconds. The default is short enough for a client that waits. */
  readonly timeoutMs?: number;
}

type Called<T> = ResultAsync<T, CallState | Unavailable>;
type Found<T> = ResultAsync<T, Unavailable>;
type Conditions = NonNullable<RunService["conditions"]>;
type Policy = protos.google.iam.v1.IPolicy;

/** For `orElse` of reads: returns a value if the resource does not exist. Any other state is a bug. */
export const ifAbsent =
  <T>(value: T) =>
  (error: CallState | Unavailable): Result<T, Unavailable> => {
    if (!isCallState(error)) return err(error);
    if (error.code !== "not_found") throw error.error;
    return ok(value);
  };

export type RunServices = ReturnType<typeof runServices>;

export const runServices = (location: GcpLocation, clients: ClientSource, runtime: GoogleRuntimeDeps) => {
  const call = googleCalls(runtime);
  const parent = parentOf(location);
  const nameOf = (name: DeploymentName): string => serviceNameOf(location, name);

  let kept: KeptList | undefined;
  /** Counts changes. A list that began before a change must not be cached. */
  let changes = 0;
  const changed = (): void => {
    kept = undefined;
    changes++;
  };
  /** Counts a failed write as a change, because the write may have been applied. */
  const writing = <T>(write: () => Promise<T>): Promise<T> => write().finally(changed);

  const send = <K extends "services" | "revisions", T>(
    kind: K,
    method: string,
    retry: RetryOptions,
    work: (client: GcpClients[K], options: ReturnType<typeof callOptions>) => Promise<T>,
  ): Called<T> =>
    new ResultAsync(
      call({ what: `run.${kind}.${method}`, ...retry }, async () =>
        work(await clients(kind), callOptions(retry.signal)),
      ),
    );

  return {
    /** The caller must call this function once the effect of a write is complete. */
    changed,

    /** Returns null if the service does not exist. */
    get: (name: DeploymentName, retry: RetryOptions = {}): Found<RunService | null> =>
      send("services", "get", retry, async (client, options): Promise<RunService | null> => {
        const [service] = await client.getService({ name: nameOf(name) }, options);
        return service;
      }).orElse(ifAbsent(null)),

    /**
     * Returns all services of the region. The result may be up to `maxAgeMs` old if this process has made no change
     * since.
     */
    list: ({ maxAgeMs = 0, ...retry }: RetryOptions & ListOptions = {}): Found<readonly RunService[]> =>
      safeTry(async function* () {
        const { clock } = runtime;
        if (kept !== undefined && plusMillis(kept.readAt, maxAgeMs) > clock.now()) return ok(kept.services);
        const begun = { readAt: clock.now(), changes };
        const services: RunService[] = [];
        let pageToken = "";
        do {
          const page = send("services", "list", retry, async (client, options) => {
            const request = { parent, pageSize: PAGE_SIZE, pageToken };
            const [found, , response] = await client.listServices(request, { ...options, autoPaginate: false });
            return { found, next: response?.nextPageToken ?? "" };
          });
          const { found, next } = yield* page.orElse(ifAbsent({ found: [], next: "" }));
          services.push(...found);
          pageToken = next;
        } while (pageToken !== "");
        if (begun.changes === changes) kept = { services, readAt: begun.readAt };
        return ok(services);
      }),

    create: (name: DeploymentName, service: RunService, retry: RetryOptions = {}): Called<void> =>
      send("services", "create", retry, (client, options) =>
        writing(async () => void (await client.createService({ parent, serviceId: name, service }, options))),
      ),

    /** Changes only the fields in the mask. Fails if `service.etag` is stale. */
    update: (
      name: DeploymentName,
      service: RunService,
      mask: readonly string[],
      retry: RetryOptions = {},
    ): Called<void> =>
      send("services", "update", retry, async (client, options) => {
        const request = { service: { ...service, name: nameOf(name) }, updateMask: { paths: [...mask] } };
        await writing(() => client.updateService(request, options));
      }),

    remove: (name: DeploymentName, etag: string, retry: RetryOptions = {}): Called<void> =>
      send("services", "delete", retry, async (client, options) => {
        await writing(() => client.deleteService({ name: nameOf(name), etag }, options));
      }),

    getIamPolicy: (name: DeploymentName, retry: RetryOptions): Called<Policy> =>
      send("services", "getIamPolicy", retry, async (client, options) => {
        const [policy] = await client.getIamPolicy({ resource: nameOf(name) }, options);
        return policy;
      }),

    setIamPolicy: (name: DeploymentName, policy: Policy, retry: RetryOptions): Called<void> =>
      send("services", "setIamPolicy", retry, async (client, options) => {
        await client.setIamPolicy({ resource: nameOf(name), policy }, options);
      }),

    /** Returns a revision's conditions; empty if the revision does not exist. */
    conditions: (name: DeploymentName, revision: string, retry: RetryOptions = {}): Found<Conditions> =>
      send("revisions", "get", retry, async (client, options): Promise<Conditions> => {
        const [found] = await client.getRevision({ name: revisionNameOf(location, name, revision) }, options);
        return found.conditions ?? [];
      }).orElse(ifAbsent<Conditions>([])),

    /** Returns the revisions of a service, newest first; empty if the service does not exist. */
    revisions: (name: DeploymentName, retry: RetryOptions = {}): Found<readonly AnnotatedRevision[]> =>
      safeTry(async function* () {
        const revisions: AnnotatedRevision[] = [];
        let pageToken = "";
        do {
          const page = send("revisions", "list", retry, async (client, options) => {
            const request = { parent: nameOf(name), pageSize: PAGE_SIZE, pageToken };
            const [found, , response] = await client.listRevisions(request, { ...options, autoPaginate: false });
            return { found, next: response?.nextPageToken ?? "" };
          });
          const { found, next } = yield* page.orElse(ifAbsent({ found: [], next: "" }));
          revisions.push(...found.map((one) => ({ id: idOf(one.name), annotations: one.annotations ?? {} })));
          pageToken = next;
        } while (pageToken !== "");
        return ok(revisions);
      }),

    /** Deletes a revision, which must have no traffic and must not be the latest. */
    removeRevision: (name: DeploymentName, revision: string, retry: RetryOptions = {}): Called<void> =>
      send("revisions", "delete", retry, async (client, options) => {
        await client.deleteRevision({ name: revisionNameOf(location, name, revision) }, options);
      }),
  };
};
