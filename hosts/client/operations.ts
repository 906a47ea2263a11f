/**
 * The routes of the endpoints. Their types derive from the endpoint table, so the compiler rejects a difference. The
 * client does not import the table itself, because the table contains the schemas.
 */
import type { KnownEndpoint } from "../http/endpoints.ts";

/** The route of an endpoint, and how to send its request and read its response. */
export interface Operation {
  readonly method: KnownEndpoint["method"];
  readonly path: string;
  readonly kind: KnownEndpoint["kind"];
  /** False if the endpoint has no fields. */
  readonly fields: boolean;
}

type Operations = {
  readonly [E in KnownEndpoint as E["operation"]]: {
    readonly method: E["method"];
    readonly path: E["path"];
    readonly kind: E["kind"];
    readonly fields: keyof E["fields"] extends never ? false : true;
  };
};

export const operations: Operations = {
  deploy: { method: "POST", path: "/v1/deploy", kind: "deploy", fields: true },
  plan: { method: "POST", path: "/v1/deploy/plan", kind: "plan", fields: true },
  listDeploys: { method: "GET", path: "/v1/deploys", kind: "json", fields: true },
  cancelDeploy: { method: "POST", path: "/v1/deploy/cancel", kind: "json", fields: true },
  followDeploy: { method: "GET", path: "/v1/deploy/:deploy_id", kind: "resume", fields: true },
  checkName: { method: "GET", path: "/v1/deployment/check-name", kind: "json", fields: true },
  listDeployments: { method: "GET", path: "/v1/deployment/list", kind: "json", fields: false },
  getDeployment: { method: "GET", path: "/v1/deployment/get", kind: "json", fields: true },
  fireSchedule: { method: "POST", path: "/v1/deployment/fire", kind: "json", fields: true },
  deleteDeployment: { method: "POST", path: "/v1/deployment/delete", kind: "json", fields: true },
  readLogs: { method: "POST", path: "/v1/deployment/logs", kind: "json", fields: true },
  getLogHistogram: { method: "POST", path: "/v1/logs/histogram", kind: "json", fields: true },
  listLogValues: { method: "POST", path: "/v1/logs/values", kind: "json", fields: true },
  listReleases: { method: "GET", path: "/v1/deployment/releases", kind: "json", fields: true },
  compareReleases: { method: "GET", path: "/v1/deployment/release-diff", kind: "json", fields: true },
  rollback: { method: "POST", path: "/v1/deployment/rollback", kind: "redeploy", fields: true },
  planRollback: { method: "POST", path: "/v1/deployment/rollback/plan", kind: "json", fields: true },
  restartDeployment: { method: "POST", path: "/v1/deployment/restart", kind: "redeploy", fields: true },
  setEnvironment: { method: "POST", path: "/v1/deployment/env", kind: "redeploy", fields: true },
  createVolume: { method: "POST", path: "/v1/volume/create", kind: "json", fields: true },
  listVolumes: { method: "GET", path: "/v1/volume/list", kind: "json", fields: false },
  deleteVolume: { method: "POST", path: "/v1/volume/delete", kind: "json", fields: true },
  listObjects: { method: "GET", path: "/v1/volume/objects", kind: "json", fields: true },
  deleteObject: { method: "POST", path: "/v1/volume/delete-object", kind: "json", fields: true },
  grantUpload: { method: "POST", path: "/v1/volume/upload", kind: "json", fields: true },
  resumeUpload: { method: "POST", path: "/v1/volume/upload-resume", kind: "json", fields: true },
  grantDownload: { method: "POST", path: "/v1/volume/download", kind: "json", fields: true },
  listTrash: { method: "GET", path: "/v1/volume/trash", kind: "json", fields: false },
  restoreVolume: { method: "POST", path: "/v1/volume/restore", kind: "json", fields: true },
  setSecret: { method: "POST", path: "/v1/secret/set", kind: "json", fields: true },
  listSecrets: { method: "GET", path: "/v1/secret/list", kind: "json", fields: false },
  deleteSecret: { method: "POST", path: "/v1/secret/delete", kind: "json", fields: true },
  addDomain: { method: "POST", path: "/v1/domain/add", kind: "json", fields: true },
  listDomains: { method: "GET", path: "/v1/domain/list", kind: "json", fields: false },
  checkDomain: { method: "POST", path: "/v1/domain/check", kind: "json", fields: true },
  removeDomain: { method: "POST", path: "/v1/domain/remove", kind: "json", fields: true },
  runSql: { method: "POST", path: "/v1/sql", kind: "json", fields: true },
  getSqlSchema: { method: "GET", path: "/v1/sql/schema", kind: "json", fields: false },
  getCost: { method: "GET", path: "/v1/cost", kind: "json", fields: true },
  getMetrics: { method: "GET", path: "/v1/metrics", kind: "json", fields: true },
  getSubscription: { method: "GET", path: "/v1/user/subscription", kind: "json", fields: false },
  capabilities: { method: "GET", path: "/v1/capabilities", kind: "json", fields: false },
  getAccountUsage: { method: "GET", path: "/v1/account/usage", kind: "json", fields: false },
  createKey: { method: "POST", path: "/v1/key/create", kind: "json", fields: true },
  listKeys: { method: "GET", path: "/v1/key/list", kind: "json", fields: false },
  revokeKey: { method: "POST", path: "/v1/key/revoke", kind: "json", fields: true },
  createConsoleLink: { method: "POST", path: "/v1/console/link", kind: "json", fields: false },
  signIn: { method: "POST", path: "/v1/console/sign-in", kind: "json", fields: true },
  signOut: { method: "POST", path: "/v1/console/sign-out", kind: "json", fields: false },
  listSessions: { method: "GET", path: "/v1/console/sessions", kind: "json", fields: false },
  revokeSession: { method: "POST", path: "/v1/console/revoke", kind: "json", fields: true },
  issueToken: { method: "POST", path: "/v1/token", kind: "json", fields: false },
};
