/**
 * Every endpoint of the contract as data: its path, its fields, its answer, and the use case behind it.
 * The routes and the OpenAPI document are both made from this table.
 */
import { z } from "zod";
import type { ControlPlane } from "../../core/control-plane.ts";
import type { Principal } from "../../core/domain/account.ts";
import {
  apiKeySchema,
  capabilitiesAnswerSchema,
  detailSchema,
  nameCheckSchema,
  newKeySchema,
  planSchema,
  tokenSchema,
} from "../../core/domain/answers.ts";
import { type Capabilities, type Feature, refusal } from "../../core/domain/capabilities.ts";
import { deployEventSchema } from "../../core/domain/deploy-events.ts";
import { deployFields } from "../../core/domain/deploy-fields.ts";
import { deploymentSchema } from "../../core/domain/deployment.ts";
import { issue } from "../../core/domain/issue.ts";
import { type LogPage, logPageSchema } from "../../core/domain/log-entry.ts";
import {
  cancelFields,
  checkNameFields,
  createKeyFields,
  createVolumeFields,
  deleteFields,
  deleteVolumeFields,
  logsFields,
  objectFields,
  objectsFields,
  restoreVolumeFields,
  resumeFields,
  revokeKeyFields,
  uploadFields,
} from "../../core/domain/requests.ts";
import {
  createdVolumeSchema,
  downloadGrantSchema,
  objectPageSchema,
  trashedVolumeSchema,
  uploadGrantSchema,
  volumeSchema,
} from "../../core/domain/volume.ts";
import { type ControlPlaneError, internal, invalidInput } from "../../core/errors.ts";
import { errAsync, okAsync, type ResultAsync } from "../../core/result.ts";
import type { Place } from "./error-response.ts";

type Fields = Readonly<Record<string, z.ZodType>>;
type Raw = Readonly<Record<string, unknown>>;

interface Described {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly summary: string;
  readonly place: Place;
  readonly fields: Fields;
  readonly answer: z.ZodType;
}

/** An endpoint that takes fields and gives JSON. */
export interface JsonEndpoint extends Described {
  readonly kind: "json";
  readonly run: (
    controlPlane: ControlPlane,
    principal: Principal,
    request: Raw,
    options: { readonly signal: AbortSignal },
  ) => ResultAsync<unknown, ControlPlaneError>;
  /** What is not the answer's body but a header of it. Absent: all of it is the body. */
  readonly render?: (answer: unknown) => Rendered;
}

export interface Rendered {
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

/** An endpoint of its own kind: a form, a stream. Its handler stands with its subject. */
export interface SpecialEndpoint extends Described {
  readonly kind: "deploy" | "plan" | "resume";
}

export type Endpoint = JsonEndpoint | SpecialEndpoint;

const renderPage = (answer: unknown): Rendered => {
  const { partial, ...body } = answer as LogPage;
  return { body, headers: partial ? { "x-logs-partial": "true" } : {} };
};

const json = (endpoint: Omit<JsonEndpoint, "kind">): JsonEndpoint => ({ kind: "json", ...endpoint });

/** An endpoint that this version routes and does not offer: the provider's record says why. */
const notOffered = (
  method: "GET" | "POST",
  path: string,
  summary: string,
  feature: (capabilities: Capabilities) => Feature,
): JsonEndpoint =>
  json({
    method,
    path,
    summary,
    place: method === "GET" ? "query" : "body",
    fields: {},
    answer: z.never(),
    run: (controlPlane) =>
      errAsync(
        refusal(feature(controlPlane.capabilities())) ??
          internal(`${path} is offered by the provider, but has no use case.`),
      ),
  });

export const endpoints: readonly Endpoint[] = [
  {
    kind: "deploy",
    method: "POST",
    path: "/v1/deploy",
    summary: "Deploy from source; the answer is a live stream of records.",
    place: "body",
    fields: deployFields,
    answer: deployEventSchema,
  },
  {
    kind: "plan",
    method: "POST",
    path: "/v1/deploy/plan",
    summary: "What a deploy would do, in words and data; nothing is done.",
    place: "body",
    fields: deployFields,
    answer: planSchema,
  },
  json({
    method: "POST",
    path: "/v1/deploy/cancel",
    summary: "End a deploy, unless traffic has moved.",
    place: "body",
    fields: cancelFields,
    answer: detailSchema,
    run: (controlPlane, principal, request) => controlPlane.cancelDeploy(principal, request),
  }),
  {
    kind: "resume",
    method: "GET",
    path: "/v1/deploy/:deploy_id",
    summary: "Follow a deploy from any record on.",
    place: "query",
    fields: resumeFields,
    answer: deployEventSchema,
  },
  json({
    method: "GET",
    path: "/v1/deployment/check-name",
    summary: "Is a deployment name free for you?",
    place: "query",
    fields: checkNameFields,
    answer: nameCheckSchema,
    run: (controlPlane, principal, request, options) => controlPlane.checkName(principal, request, options),
  }),
  json({
    method: "GET",
    path: "/v1/deployment/list",
    summary: "Your deployments, by name.",
    place: "query",
    fields: {},
    answer: z.array(deploymentSchema),
    run: (controlPlane, principal, _request, options) => controlPlane.listDeployments(principal, options),
  }),
  json({
    method: "POST",
    path: "/v1/deployment/delete",
    summary: "Stop and remove a deployment; volumes and logs stay.",
    place: "body",
    fields: deleteFields,
    answer: detailSchema,
    run: (controlPlane, principal, request, options) => controlPlane.deleteDeployment(principal, request, options),
  }),
  json({
    method: "POST",
    path: "/v1/deployment/logs",
    summary: "Entries of a deployment's log, oldest first.",
    place: "body",
    fields: logsFields,
    answer: logPageSchema,
    run: (controlPlane, principal, request, options) => controlPlane.readLogs(principal, request, options),
    render: renderPage,
  }),
  json({
    method: "POST",
    path: "/v1/volume/create",
    summary: "Create a volume; one that is there stays as it is.",
    place: "body",
    fields: createVolumeFields,
    answer: createdVolumeSchema,
    run: (controlPlane, principal, request, options) => controlPlane.createVolume(principal, request, options),
  }),
  json({
    method: "GET",
    path: "/v1/volume/list",
    summary: "Your volumes, by name, each with the deployments that mount it.",
    place: "query",
    fields: {},
    answer: z.array(volumeSchema),
    run: (controlPlane, principal, _request, options) => controlPlane.listVolumes(principal, options),
  }),
  json({
    method: "POST",
    path: "/v1/volume/delete",
    summary: "Delete a volume that nothing mounts; it can be restored for 7 days.",
    place: "body",
    fields: deleteVolumeFields,
    answer: detailSchema,
    run: (controlPlane, principal, request, options) => controlPlane.deleteVolume(principal, request, options),
  }),
  json({
    method: "GET",
    path: "/v1/volume/objects",
    summary: "Objects of a volume, by path.",
    place: "query",
    fields: objectsFields,
    answer: objectPageSchema,
    run: (controlPlane, principal, request, options) => controlPlane.listObjects(principal, request, options),
  }),
  json({
    method: "POST",
    path: "/v1/volume/delete-object",
    summary: "Delete an object.",
    place: "body",
    fields: objectFields,
    answer: detailSchema,
    run: (controlPlane, principal, request, options) => controlPlane.deleteObject(principal, request, options),
  }),
  json({
    method: "POST",
    path: "/v1/volume/upload",
    summary: "A signed URL to put an object.",
    place: "body",
    fields: uploadFields,
    answer: uploadGrantSchema,
    run: (controlPlane, principal, request, options) => controlPlane.grantUpload(principal, request, options),
  }),
  json({
    method: "POST",
    path: "/v1/volume/download",
    summary: "A signed URL to get an object.",
    place: "body",
    fields: objectFields,
    answer: downloadGrantSchema,
    run: (controlPlane, principal, request, options) => controlPlane.grantDownload(principal, request, options),
  }),
  json({
    method: "GET",
    path: "/v1/volume/trash",
    summary: "Deleted volumes that can be restored, newest first.",
    place: "query",
    fields: {},
    answer: z.array(trashedVolumeSchema),
    run: (controlPlane, principal, _request, options) => controlPlane.listTrash(principal, options),
  }),
  json({
    method: "POST",
    path: "/v1/volume/restore",
    summary: "Restore a deleted volume.",
    place: "body",
    fields: restoreVolumeFields,
    answer: volumeSchema,
    run: (controlPlane, principal, request, options) => controlPlane.restoreVolume(principal, request, options),
  }),
  notOffered("POST", "/v1/sql", "SQL over logs and billing.", (capabilities) => capabilities.sql),
  notOffered("GET", "/v1/user/subscription", "Your subscription.", (capabilities) => capabilities.subscription),
  json({
    method: "GET",
    path: "/v1/capabilities",
    summary: "What this platform's provider can and cannot do, and your limits.",
    place: "query",
    fields: {},
    answer: capabilitiesAnswerSchema,
    run: (controlPlane) => okAsync(controlPlane.capabilities()),
  }),
  json({
    method: "POST",
    path: "/v1/key/create",
    summary: "Make an API key for your account; it is shown once.",
    place: "body",
    fields: createKeyFields,
    answer: newKeySchema,
    run: (controlPlane, principal, request, options) => controlPlane.createKey(principal, request, options),
  }),
  json({
    method: "GET",
    path: "/v1/key/list",
    summary: "Your API keys.",
    place: "query",
    fields: {},
    answer: z.array(apiKeySchema),
    run: (controlPlane, principal, _request, options) => controlPlane.listKeys(principal, options),
  }),
  json({
    method: "POST",
    path: "/v1/key/revoke",
    summary: "Revoke one of your API keys.",
    place: "body",
    fields: revokeKeyFields,
    answer: detailSchema,
    run: (controlPlane, principal, request, options) => controlPlane.revokeKey(principal, request, options),
  }),
  json({
    method: "POST",
    path: "/v1/token",
    summary: "A short-lived bearer token for your account.",
    place: "body",
    fields: {},
    answer: tokenSchema,
    run: (controlPlane, principal, request, options) => {
      const unknown = Object.keys(request).map((name) =>
        issue([name], `unknown field '${name}'; this endpoint takes none`, "extra_forbidden"),
      );
      return unknown.length > 0 ? errAsync(invalidInput(unknown)) : controlPlane.issueToken(principal, options);
    },
  }),
];
