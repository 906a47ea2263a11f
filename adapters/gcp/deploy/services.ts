/** The Cloud Run API calls of the platform, with retries. run/v2/service.proto, revision.proto. */
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import type { Unavailable } from "../../../core/errors.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { type CallState, isCallState } from "../../shared/calls/provider-call.ts";
import { callOptions, type GoogleRuntimeDeps, googleCalls } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import type { RunService } from "./render.ts";
import { type CloudRunLocation, parentOf, revisionNameOf, serviceNameOf } from "./resource-names.ts";

/** Page size of a list (ListServicesRequest). */
export const PAGE_SIZE = 100;

export interface RetryOptions {
  readonly signal?: AbortSignal | undefined;
  /** How long to retry, in milliseconds; defaults to a reader's limit. */
  readonly timeoutMs?: number;
}

type Called<T> = Promise<Result<T, CallState | Unavailable>>;
type Conditions = NonNullable<RunService["conditions"]>;

export interface RunServices {
  /** Null if the service does not exist. */
  get(name: DeploymentName, retry?: RetryOptions): Promise<Result<RunService | null, Unavailable>>;
  list(retry?: RetryOptions): Promise<Result<readonly RunService[], Unavailable>>;
  create(name: DeploymentName, service: RunService, retry?: RetryOptions): Called<void>;
  /** Changes only the fields in the mask. Fails if `service.etag` is stale. */
  update(name: DeploymentName, service: RunService, mask: readonly string[], retry?: RetryOptions): Called<void>;
  remove(name: DeploymentName, etag: string, retry?: RetryOptions): Called<void>;
  /** Returns a revision's conditions; empty if the revision does not exist. */
  conditions(name: DeploymentName, revision: string, retry?: RetryOptions): Promise<Result<Conditions, Unavailable>>;
}

const absentAs = <T>(result: Result<T, CallState | Unavailable>, absent: T): Result<T, Unavailable> => {
  if (result.isOk()) return ok(result.value);
  const { error } = result;
  if (!isCallState(error)) return err(error);
  if (error.code !== "not_found") throw error.error;
  return ok(absent);
};

export const runServices = (
  location: CloudRunLocation,
  clients: ClientSource,
  runtime: GoogleRuntimeDeps,
): RunServices => {
  const call = googleCalls(runtime);

  return {
    get: async (name, retry = {}) => {
      const found = await call<RunService | null>({ what: "run.services.get", ...retry }, async () => {
        const client = await clients("services");
        return (await client.getService({ name: serviceNameOf(location, name) }, callOptions(retry.signal)))[0];
      });
      return absentAs(found, null);
    },

    list: async (retry = {}) => {
      const services: RunService[] = [];
      let pageToken = "";
      do {
        const page = await call({ what: "run.services.list", ...retry }, async () => {
          const client = await clients("services");
          const request = { parent: parentOf(location), pageSize: PAGE_SIZE, pageToken };
          const options = { ...callOptions(retry.signal), autoPaginate: false };
          const [found, , response] = await client.listServices(request, options);
          return { found, next: response?.nextPageToken ?? "" };
        });
        const read = absentAs(page, { found: [], next: "" });
        if (read.isErr()) return err(read.error);
        services.push(...read.value.found);
        pageToken = read.value.next;
      } while (pageToken !== "");
      return ok(services);
    },

    create: (name, service, retry = {}) =>
      call({ what: "run.services.create", ...retry }, async () => {
        const client = await clients("services");
        const request = { parent: parentOf(location), serviceId: name, service };
        await client.createService(request, callOptions(retry.signal));
      }),

    update: (name, service, mask, retry = {}) =>
      call({ what: "run.services.update", ...retry }, async () => {
        const client = await clients("services");
        const named = { ...service, name: serviceNameOf(location, name) };
        const request = { service: named, updateMask: { paths: [...mask] } };
        await client.updateService(request, callOptions(retry.signal));
      }),

    remove: (name, etag, retry = {}) =>
      call({ what: "run.services.delete", ...retry }, async () => {
        const client = await clients("services");
        await client.deleteService({ name: serviceNameOf(location, name), etag }, callOptions(retry.signal));
      }),

    conditions: async (name, revision, retry = {}) => {
      const found = await call<Conditions>({ what: "run.revisions.get", ...retry }, async () => {
        const client = await clients("revisions");
        const request = { name: revisionNameOf(location, name, revision) };
        return (await client.getRevision(request, callOptions(retry.signal)))[0].conditions ?? [];
      });
      return absentAs(found, []);
    },
  };
};
