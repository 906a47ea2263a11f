/** A valid call of each endpoint; a new endpoint needs one here. */
import type { ObjectPath } from "../../../core/domain/volumes/object-path.ts";
import { formatUploadId } from "../../../core/domain/volumes/upload-id.ts";
import { instantOfMillis } from "../../../core/domain/wire/instant.ts";
import type { VolumeName } from "../../../core/domain/wire/names.ts";
import { endpoints, needsCredential } from "../../../hosts/http/endpoints.ts";
import { sourceOf } from "../archives/archives.ts";
import type { ApiResponse, CallOptions, TestApi } from "./api.ts";
import { deployForm } from "./record-stream.ts";

/** The deployment, the deploy, the API key, the session and the upload that the calls refer to. */
export interface Names {
  readonly name: string;
  readonly deployId: string;
  readonly keyId: string;
  readonly sessionId: string;
  readonly uploadId: string;
}

interface Sample {
  readonly path: string;
  readonly json?: unknown;
  readonly form?: FormData;
}

const volume = { volume: "data", path: "a.txt" };

const samples: Readonly<Record<string, (names: Names) => Sample>> = {
  "POST /v1/deploy": ({ name }) => ({
    path: "/v1/deploy",
    form: deployForm({ function_name: name, volumes: "{}" }, sourceOf({ "index.js": "run()" })),
  }),
  "POST /v1/deploy/plan": ({ name }) => ({
    path: "/v1/deploy/plan",
    form: deployForm({ function_name: name, volumes: "{}" }),
  }),
  "GET /v1/deploys": () => ({ path: "/v1/deploys" }),
  "POST /v1/deploy/cancel": ({ deployId }) => ({ path: "/v1/deploy/cancel", json: { deploy_id: deployId } }),
  "GET /v1/deploy/:deploy_id": ({ deployId }) => ({ path: `/v1/deploy/${deployId}` }),
  "GET /v1/deployment/check-name": ({ name }) => ({ path: `/v1/deployment/check-name?name=${name}` }),
  "GET /v1/deployment/list": () => ({ path: "/v1/deployment/list" }),
  "GET /v1/deployment/get": ({ name }) => ({ path: `/v1/deployment/get?name=${name}` }),
  "POST /v1/deployment/fire": ({ name }) => ({ path: "/v1/deployment/fire", json: { name } }),
  "POST /v1/deployment/delete": ({ name }) => ({ path: "/v1/deployment/delete", json: { name } }),
  "POST /v1/deployment/logs": ({ name }) => ({ path: "/v1/deployment/logs", json: { deployment_name: name } }),
  "GET /v1/deployment/releases": ({ name }) => ({ path: `/v1/deployment/releases?name=${name}` }),
  "GET /v1/deployment/release-diff": ({ name }) => ({
    path: `/v1/deployment/release-diff?name=${name}&from=1&to=1`,
  }),
  "POST /v1/deployment/rollback": ({ name }) => ({ path: "/v1/deployment/rollback", json: { name, release: 1 } }),
  "POST /v1/deployment/rollback/plan": ({ name }) => ({
    path: "/v1/deployment/rollback/plan",
    json: { name, release: 1 },
  }),
  "POST /v1/deployment/restart": ({ name }) => ({ path: "/v1/deployment/restart", json: { name } }),
  "POST /v1/deployment/env": ({ name }) => ({ path: "/v1/deployment/env", json: { name, set: { LEVEL: "1" } } }),
  "POST /v1/volume/create": () => ({ path: "/v1/volume/create", json: { name: "data" } }),
  "GET /v1/volume/list": () => ({ path: "/v1/volume/list" }),
  "POST /v1/volume/delete": () => ({ path: "/v1/volume/delete", json: { name: "data" } }),
  "GET /v1/volume/objects": () => ({ path: "/v1/volume/objects?volume=data" }),
  "POST /v1/volume/delete-object": () => ({ path: "/v1/volume/delete-object", json: volume }),
  "POST /v1/volume/upload": () => ({ path: "/v1/volume/upload", json: { volume: "data", object: "a.txt" } }),
  "POST /v1/volume/upload-resume": ({ uploadId }) => ({
    path: "/v1/volume/upload-resume",
    json: { upload_id: uploadId },
  }),
  "POST /v1/volume/download": () => ({ path: "/v1/volume/download", json: volume }),
  "GET /v1/volume/trash": () => ({ path: "/v1/volume/trash" }),
  "POST /v1/volume/restore": () => ({ path: "/v1/volume/restore", json: { name: "data" } }),
  "POST /v1/secret/set": () => ({ path: "/v1/secret/set", json: { name: "STRIPE_KEY", value: "sk_1" } }),
  "GET /v1/secret/list": () => ({ path: "/v1/secret/list" }),
  "POST /v1/secret/delete": () => ({ path: "/v1/secret/delete", json: { name: "STRIPE_KEY" } }),
  "POST /v1/domain/add": ({ name }) => ({
    path: "/v1/domain/add",
    json: { domain: "app.example.com", name },
  }),
  "GET /v1/domain/list": () => ({ path: "/v1/domain/list" }),
  "POST /v1/domain/check": () => ({ path: "/v1/domain/check", json: { domain: "app.example.com" } }),
  "POST /v1/domain/remove": () => ({ path: "/v1/domain/remove", json: { domain: "app.example.com" } }),
  "POST /v1/logs/histogram": ({ name }) => ({ path: "/v1/logs/histogram", json: { deployment_name: name } }),
  "POST /v1/logs/values": ({ name }) => ({ path: "/v1/logs/values", json: { deployment_name: name } }),
  "POST /v1/sql": () => ({ path: "/v1/sql", json: { query: "SELECT COUNT(*) AS n FROM logs" } }),
  "GET /v1/sql/schema": () => ({ path: "/v1/sql/schema" }),
  "GET /v1/cost": () => ({ path: "/v1/cost" }),
  "GET /v1/metrics": () => ({ path: "/v1/metrics" }),
  "GET /v1/user/subscription": () => ({ path: "/v1/user/subscription" }),
  "GET /v1/account/usage": () => ({ path: "/v1/account/usage" }),
  "GET /v1/capabilities": () => ({ path: "/v1/capabilities" }),
  "POST /v1/key/create": () => ({ path: "/v1/key/create", json: { label: "ci" } }),
  "GET /v1/key/list": () => ({ path: "/v1/key/list" }),
  "POST /v1/key/revoke": ({ keyId }) => ({ path: "/v1/key/revoke", json: { id: keyId } }),
  "POST /v1/console/link": () => ({ path: "/v1/console/link" }),
  "POST /v1/console/sign-in": () => ({ path: "/v1/console/sign-in", json: { link: "no-such-link" } }),
  "POST /v1/console/sign-out": () => ({ path: "/v1/console/sign-out" }),
  "GET /v1/console/sessions": () => ({ path: "/v1/console/sessions" }),
  "POST /v1/console/revoke": ({ sessionId }) => ({ path: "/v1/console/revoke", json: { id: sessionId } }),
  "POST /v1/token": () => ({ path: "/v1/token" }),
};

/** Every endpoint that needs a credential, as `METHOD /path`. */
export const privateEndpointNames: readonly string[] = endpoints
  .filter(needsCredential)
  .map(({ method, path }) => `${method} ${path}`);

/** Every endpoint as `METHOD /path`. */
export const endpointNames: readonly string[] = endpoints.map(({ method, path }) => `${method} ${path}`);

/** A well-formed id, so that the platform looks for the upload. */
const unknownUpload = formatUploadId({
  volume: "data" as VolumeName,
  bucket: "vol-none",
  path: "a.txt" as ObjectPath,
  size: 1,
  startedAt: instantOfMillis(Date.now()),
  id: "none",
});

const unknown: Names = {
  name: "app",
  deployId: "no-such-deploy",
  keyId: "no-such-key",
  sessionId: "no-such-session",
  uploadId: unknownUpload,
};

export const sampleOf = (endpoint: string, names: Partial<Names> = {}): Sample => {
  const sample = samples[endpoint];
  if (sample === undefined) throw new Error(`endpoint-calls.ts has no call of ${endpoint}. Add one.`);
  return sample({ ...unknown, ...names });
};

export const callEndpoint = (
  api: TestApi,
  endpoint: string,
  names: Partial<Names> = {},
  options: CallOptions = {},
): Promise<ApiResponse> => {
  const [method = ""] = endpoint.split(" ");
  const { path, json, form } = sampleOf(endpoint, names);
  const body = { ...(json === undefined ? {} : { json }), ...(form === undefined ? {} : { body: form }) };
  return api.call(method, path, { ...body, ...options });
};
