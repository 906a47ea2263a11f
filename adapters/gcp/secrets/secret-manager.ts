/**
 * Calls to Secret Manager: https://docs.cloud.google.com/secret-manager/docs/reference/rest. An error of these calls
 * contains no request, because a request may contain a value.
 */
import type { Unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { ok, ResultAsync, safeTry } from "../../../core/result.ts";
import type { CallState } from "../../cloud/calls/provider-call.ts";
import { OWNER_LABEL } from "../../cloud/deploy/labels.ts";
import { type GoogleRuntimeDeps, googleCalls } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import type { GcpLocation } from "../location.ts";
import type { Annotations, EnabledVersion } from "./versions.ts";

export interface ManagedSecret {
  /** `projects/NUMBER/secrets/ID` */
  readonly name: string;
  readonly etag?: string;
  readonly annotations?: Annotations;
}

interface Policy {
  readonly etag?: string;
  readonly bindings?: readonly {
    readonly role: string;
    readonly members?: readonly string[];
    readonly condition?: unknown;
  }[];
}

interface VersionPage {
  readonly versions?: readonly { readonly name: string; readonly createTime: string }[];
  readonly nextPageToken?: string;
}

export type Called<T> = ResultAsync<T, CallState | Unavailable>;

export type SecretManager = ReturnType<typeof createSecretManager>;

/** Timeout of one response, in milliseconds. By default, gaxios has no timeout. */
const CALL_TIMEOUT_MS = 20_000;
const PAGE_SIZE = 1000;

interface Request {
  readonly method: "GET" | "POST" | "PATCH";
  readonly path: string;
  readonly data?: object;
}

interface RestFailure {
  readonly code?: unknown;
  readonly response?: { readonly headers?: unknown; readonly data?: unknown };
}

/** Returns the error of a call without its request. */
const withoutRequest = (error: unknown): unknown => {
  if (!(error instanceof Error)) return error;
  const { code, response } = error as RestFailure;
  const kept = response === undefined ? {} : { response: { headers: response.headers, data: response.data } };
  return Object.assign(new Error(error.message), code === undefined ? {} : { code }, kept);
};

export const createSecretManager = (
  { project, region }: GcpLocation,
  clients: ClientSource,
  runtime: GoogleRuntimeDeps,
) => {
  const call = googleCalls(runtime);
  const parent = `projects/${project}/secrets`;

  const send = <T>(what: string, { path, ...request }: Request, { signal }: CallOptions): Called<T> =>
    new ResultAsync(
      call({ what: `secretmanager.${what}`, signal }, async () => {
        const auth = await clients("auth");
        const url = `https://secretmanager.googleapis.com/v1/${path}`;
        const more = signal === undefined ? {} : { signal };
        try {
          return (await auth.request<T>({ ...request, ...more, url, retry: false, timeout: CALL_TIMEOUT_MS })).data;
        } catch (error) {
          throw withoutRequest(error);
        }
      }),
    );

  return {
    get: (id: string, options: CallOptions) =>
      send<ManagedSecret>("secrets.get", { method: "GET", path: `${parent}/${id}` }, options),

    /**
     * Returns a page of an account's secrets, which have its owner label:
     * https://docs.cloud.google.com/secret-manager/docs/filtering
     * @param ownerDigest undefined for all secrets of the project
     */
    list: (ownerDigest: string | undefined, pageToken: string, options: CallOptions) => {
      const query = new URLSearchParams({
        ...(ownerDigest !== undefined && { filter: `labels.${OWNER_LABEL}=${ownerDigest}` }),
        pageSize: String(PAGE_SIZE),
        ...(pageToken === "" ? {} : { pageToken }),
      });
      const request = { method: "GET", path: `${parent}?${query}` } as const;
      return send<{ secrets?: ManagedSecret[]; nextPageToken?: string }>("secrets.list", request, options);
    },

    /** Creates a secret without versions. Its values stay in the region of the services. */
    create: (id: string, labels: Readonly<Record<string, string>>, options: CallOptions) => {
      const data = { replication: { userManaged: { replicas: [{ location: region }] } }, labels };
      return send<ManagedSecret>("secrets.create", { method: "POST", path: `${parent}?secretId=${id}`, data }, options);
    },

    /** Replaces the annotations, if the secret still has this etag. */
    annotate: (id: string, annotations: Annotations, etag: string | undefined, options: CallOptions) => {
      const data = { annotations, ...(etag === undefined ? {} : { etag }) };
      const path = `${parent}/${id}?updateMask=annotations`;
      return send<ManagedSecret>("secrets.patch", { method: "PATCH", path, data }, options);
    },

    addVersion: (id: string, value: Buffer, options: CallOptions) => {
      const data = { payload: { data: value.toString("base64") } };
      const request = { method: "POST", path: `${parent}/${id}:addVersion`, data } as const;
      return send<{ name: string }>("versions.add", request, options).map(({ name }) =>
        Number(name.split("/versions/").at(-1)),
      );
    },

    access: (id: string, version: number, options: CallOptions): Called<Buffer> => {
      const request = { method: "GET", path: `${parent}/${id}/versions/${version}:access` } as const;
      return send<{ payload: { data: string } }>("versions.access", request, options).map(({ payload }) =>
        Buffer.from(payload.data, "base64"),
      );
    },

    /** Returns the versions that contain a value. */
    enabledVersions: (id: string, options: CallOptions): Called<readonly EnabledVersion[]> =>
      safeTry(async function* () {
        const enabled: EnabledVersion[] = [];
        let pageToken = "";
        do {
          const query = new URLSearchParams({
            filter: "state:ENABLED",
            pageSize: String(PAGE_SIZE),
            ...(pageToken === "" ? {} : { pageToken }),
          });
          const request = { method: "GET", path: `${parent}/${id}/versions?${query}` } as const;
          const page = yield* await send<VersionPage>("versions.list", request, options);
          for (const { name, createTime } of page.versions ?? [])
            enabled.push({
              version: Number(name.split("/versions/").at(-1)),
              createdMillis: Date.parse(createTime),
            });
          pageToken = page.nextPageToken ?? "";
        } while (pageToken !== "");
        return ok(enabled);
      }),

    /** Discards the value of a version: https://docs.cloud.google.com/secret-manager/docs/destroy-secret-version */
    destroy: (id: string, version: number, options: CallOptions): Called<unknown> =>
      send(
        "versions.destroy",
        { method: "POST", path: `${parent}/${id}/versions/${version}:destroy`, data: {} },
        options,
      ),

    getPolicy: (id: string, options: CallOptions) => {
      const path = `${parent}/${id}:getIamPolicy?options.requestedPolicyVersion=3`;
      return send<Policy>("secrets.getIamPolicy", { method: "GET", path }, options);
    },

    setPolicy: (id: string, policy: Policy, options: CallOptions) =>
      send<Policy>(
        "secrets.setIamPolicy",
        { method: "POST", path: `${parent}/${id}:setIamPolicy`, data: { policy } },
        options,
      ),
  };
};
