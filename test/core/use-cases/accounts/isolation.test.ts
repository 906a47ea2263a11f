/** No account may see, change or detect another account's resources: every method of the control plane, one by one. */

import { expect, test } from "vitest";
import type { ControlPlane } from "../../../../core/control-plane.ts";
import type { Principal } from "../../../../core/domain/accounts/account.ts";
import { sqlTables } from "../../../../core/domain/sql/tables.ts";
import { freeSubscription } from "../../../../core/domain/usage/subscription.ts";
import { inOnePiece } from "../../../models/upload-url.ts";
import { bytesOf, helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { deployed, startMemory } from "../../../support/providers/memory-platform.ts";

interface Secrets {
  readonly trashId: string;
  readonly uploadId: string;
  readonly deployId: string;
  readonly keyId: string;
  readonly sessionId: string;
}

/** A call by the other account, with checks of its result. */
type Attempt = (controlPlane: ControlPlane, other: Principal, secrets: Secrets) => Promise<void>;

const fields = { function_name: "app", volumes: {} };

const source = async (controlPlane: ControlPlane, account: Principal) =>
  (await controlPlane.receiveSource(account, bytesOf(nodeSource(helloServer()))))._unsafeUnwrap();

const attempts: Readonly<Record<Exclude<keyof ControlPlane, "settings">, Attempt | "not of an account">> = {
  capabilities: "not of an account",
  check: "not of an account",
  storageOrigins: "not of an account",
  authenticate: "not of an account",
  endWaits: "not of an account",
  settle: "not of an account",
  resumeRedeploys: "not of an account",
  keepCertificates: "not of an account",
  close: "not of an account",
  hasSessions: "not of an account",
  signIn: "not of an account",
  // Concerns only the session that authenticated the caller.
  whenSignedOut: "not of an account",
  countRequest: async (controlPlane, other) => {
    expect(controlPlane.countRequest(other).isOk()).toBe(true);
  },
  receiveSource: async (controlPlane, other) => {
    expect((await source(controlPlane, other)).kind).toBe("accepted");
  },
  checkName: async (controlPlane, other) => {
    expect((await controlPlane.checkName(other, { name: "app" }))._unsafeUnwrap()).toEqual({
      available: false,
      reason: "the name is taken; choose another",
    });
  },
  plan: async (controlPlane, other) => {
    expect((await controlPlane.plan(other, { fields }))._unsafeUnwrapErr().kind).toBe("forbidden");
  },
  deploy: async (controlPlane, other) => {
    const archive = await source(controlPlane, other);
    expect((await controlPlane.deploy(other, { fields, archive }))._unsafeUnwrapErr().kind).toBe("forbidden");
  },
  resumeDeploy: async (controlPlane, other, { deployId }) => {
    expect((await controlPlane.resumeDeploy(other, { deploy_id: deployId }))._unsafeUnwrapErr().kind).toBe("forbidden");
  },
  followDeploy: async (controlPlane, other, { deployId }) => {
    const items = await Array.fromAsync(controlPlane.followDeploy(other, { deploy_id: deployId }));
    expect(items.map((item) => item._unsafeUnwrapErr().kind)).toEqual(["forbidden"]);
  },
  followLogs: async (controlPlane, other) => {
    const items = await Array.fromAsync(controlPlane.followLogs(other, { deployment_name: "app" }));
    expect(items.map((item) => item._unsafeUnwrapErr().kind)).toEqual(["forbidden"]);
  },
  cancelDeploy: async (controlPlane, other, { deployId }) => {
    expect((await controlPlane.cancelDeploy(other, { deploy_id: deployId }))._unsafeUnwrapErr().kind).toBe("forbidden");
  },
  getSubscription: async (controlPlane, other) => {
    expect((await controlPlane.getSubscription(other))._unsafeUnwrap().plan).toBe("free");
  },
  getCost: async (controlPlane, other) => {
    const report = (await controlPlane.getCost(other, {}))._unsafeUnwrap();
    expect(report).toMatchObject({ total: { turns: 0, infrastructure: [] }, groups: [] });
  },
  getMetrics: async (controlPlane, other) => {
    expect((await controlPlane.getMetrics(other, {}))._unsafeUnwrap().series).toEqual([]);
    expect((await controlPlane.getMetrics(other, { names: "app" }))._unsafeUnwrapErr().kind).toBe("forbidden");
  },
  getAccountUsage: async (controlPlane, other) => {
    const usage = (await controlPlane.getAccountUsage(other))._unsafeUnwrap();
    expect(Object.values(usage).map(({ used }) => used)).toEqual(Object.values(usage).map(() => 0));
  },
  listDeploys: async (controlPlane, other) => {
    expect((await controlPlane.listDeploys(other, {}))._unsafeUnwrap()).toEqual({ deploys: [], partial: false });
    expect((await controlPlane.listDeploys(other, { name: "app" }))._unsafeUnwrapErr().kind).toBe("forbidden");
  },
  listDeployments: async (controlPlane, other) => {
    expect((await controlPlane.listDeployments(other))._unsafeUnwrap()).toEqual([]);
  },
  deleteDeployment: async (controlPlane, other) => {
    expect((await controlPlane.deleteDeployment(other, { name: "app" }))._unsafeUnwrapErr().kind).toBe("forbidden");
  },
  getDeployment: async (controlPlane, other) => {
    expect((await controlPlane.getDeployment(other, { name: "app" }))._unsafeUnwrapErr().kind).toBe("forbidden");
  },
  listReleases: async (controlPlane, other) => {
    expect((await controlPlane.listReleases(other, { name: "app" }))._unsafeUnwrapErr().kind).toBe("forbidden");
  },
  compareReleases: async (controlPlane, other) => {
    const releases = { name: "app", from: 1, to: 1 };
    expect((await controlPlane.compareReleases(other, releases))._unsafeUnwrapErr().kind).toBe("forbidden");
  },
  planRollback: async (controlPlane, other) => {
    const release = { name: "app", release: 1 };
    expect((await controlPlane.planRollback(other, release))._unsafeUnwrapErr().kind).toBe("forbidden");
  },
  rollback: async (controlPlane, other) => {
    const release = { name: "app", release: 1 };
    expect((await controlPlane.rollback(other, release))._unsafeUnwrapErr().kind).toBe("forbidden");
  },
  restartDeployment: async (controlPlane, other) => {
    expect((await controlPlane.restartDeployment(other, { name: "app" }))._unsafeUnwrapErr().kind).toBe("forbidden");
  },
  setEnvironment: async (controlPlane, other) => {
    const change = { name: "app", set: { TOKEN: "theirs" } };
    expect((await controlPlane.setEnvironment(other, change))._unsafeUnwrapErr().kind).toBe("forbidden");
  },
  fireSchedule: async (controlPlane, other) => {
    expect((await controlPlane.fireSchedule(other, { name: "app" }))._unsafeUnwrapErr().kind).toBe("forbidden");
  },
  readLogs: async (controlPlane, other) => {
    expect((await controlPlane.readLogs(other, { deployment_name: "app" }))._unsafeUnwrapErr().kind).toBe("forbidden");
  },
  getLogHistogram: async (controlPlane, other) => {
    const request = { deployment_name: "app" };
    expect((await controlPlane.getLogHistogram(other, request))._unsafeUnwrapErr().kind).toBe("forbidden");
  },
  listLogValues: async (controlPlane, other) => {
    const request = { deployment_name: "app" };
    expect((await controlPlane.listLogValues(other, request))._unsafeUnwrapErr().kind).toBe("forbidden");
  },
  runSql: async (controlPlane, other) => {
    const { rows } = (await controlPlane.runSql(other, { query: "SELECT COUNT(*) AS n FROM logs" }))._unsafeUnwrap();
    expect(rows).toEqual([[0]]);
  },
  getSqlSchema: async (controlPlane, other) => {
    expect((await controlPlane.getSqlSchema(other))._unsafeUnwrap()).toEqual({ tables: sqlTables });
  },
  createVolume: async (controlPlane, other) => {
    // Volume names belong to an account: the other account gets another volume.
    expect((await controlPlane.createVolume(other, { name: "data" }))._unsafeUnwrap().created).toBe(true);
  },
  listVolumes: async (controlPlane, other) => {
    expect((await controlPlane.listVolumes(other))._unsafeUnwrap()).toEqual([]);
  },
  deleteVolume: async (controlPlane, other) => {
    expect((await controlPlane.deleteVolume(other, { name: "data" }))._unsafeUnwrapErr().kind).toBe("forbidden");
  },
  listTrash: async (controlPlane, other) => {
    expect((await controlPlane.listTrash(other))._unsafeUnwrap()).toEqual([]);
  },
  restoreVolume: async (controlPlane, other, { trashId }) => {
    for (const id of [trashId, undefined])
      expect((await controlPlane.restoreVolume(other, { name: "old", id }))._unsafeUnwrapErr().kind).toBe("not_found");
  },
  listObjects: async (controlPlane, other) => {
    expect((await controlPlane.listObjects(other, { volume: "data" }))._unsafeUnwrapErr().kind).toBe("forbidden");
  },
  deleteObject: async (controlPlane, other) => {
    const object = { volume: "data", path: "a.txt" };
    expect((await controlPlane.deleteObject(other, object))._unsafeUnwrapErr().kind).toBe("forbidden");
  },
  grantUpload: async (controlPlane, other) => {
    const object = { volume: "data", object: "a.txt" };
    expect((await controlPlane.grantUpload(other, object))._unsafeUnwrapErr().kind).toBe("forbidden");
  },
  resumeUpload: async (controlPlane, other, { uploadId: upload_id }) => {
    expect((await controlPlane.resumeUpload(other, { upload_id }))._unsafeUnwrapErr().kind).toBe("not_found");
  },
  grantDownload: async (controlPlane, other) => {
    const object = { volume: "data", path: "a.txt" };
    expect((await controlPlane.grantDownload(other, object))._unsafeUnwrapErr().kind).toBe("forbidden");
  },
  listSecrets: async (controlPlane, other) => {
    expect((await controlPlane.listSecrets(other))._unsafeUnwrap()).toEqual([]);
  },
  deleteSecret: async (controlPlane, other) => {
    expect((await controlPlane.deleteSecret(other, { name: "API_KEY" }))._unsafeUnwrapErr().kind).toBe("not_found");
  },
  addDomain: async (controlPlane, other) => {
    const domain = "app.example.com";
    const taken = await controlPlane.addDomain(other, { domain, name: "app" });
    expect(taken._unsafeUnwrapErr().kind).toBe("forbidden");
  },
  listDomains: async (controlPlane, other) => {
    expect((await controlPlane.listDomains(other))._unsafeUnwrap()).toEqual([]);
  },
  checkDomain: async (controlPlane, other) => {
    const checked = await controlPlane.checkDomain(other, { domain: "app.example.com" });
    expect(checked._unsafeUnwrapErr().kind).toBe("not_found");
  },
  removeDomain: async (controlPlane, other) => {
    const removed = await controlPlane.removeDomain(other, { domain: "app.example.com" });
    expect(removed._unsafeUnwrapErr().kind).toBe("not_found");
  },
  setSecret: async (controlPlane, other) => {
    const set = (await controlPlane.setSecret(other, { name: "API_KEY", value: "s3cret" }))._unsafeUnwrap();
    expect(set).toMatchObject({ version: 1, deploys: [] });
    const own = (await controlPlane.listSecrets(other))._unsafeUnwrap();
    expect(own).toMatchObject([{ name: "API_KEY", used_by: [] }]);
  },
  createConsoleLink: async (controlPlane, other) => {
    const { token } = (
      await controlPlane.createConsoleLink({ ...other, credentialKind: "issuer_token" })
    )._unsafeUnwrap();
    const signedIn = (await controlPlane.signIn({ link: token }, "::1"))._unsafeUnwrap();
    expect(signedIn.account).toBe(other.account);
  },
  signOut: async (controlPlane, other, { sessionId }) => {
    const forged = { ...other, sessionId };
    expect((await controlPlane.signOut(forged))._unsafeUnwrapErr().kind).toBe("not_found");
  },
  listSessions: async (controlPlane, other) => {
    expect((await controlPlane.listSessions(other))._unsafeUnwrap()).toEqual({ sessions: [] });
  },
  revokeSession: async (controlPlane, other, { sessionId }) => {
    expect((await controlPlane.revokeSession(other, { id: sessionId }))._unsafeUnwrapErr().kind).toBe("not_found");
  },
  createKey: async (controlPlane, other) => {
    const made = (await controlPlane.createKey(other, { label: "mine" }))._unsafeUnwrap();
    const principal = (await controlPlane.authenticate({ apiKey: made.key }))._unsafeUnwrap();
    expect(principal.account).toBe(other.account);
  },
  listKeys: async (controlPlane, other, { keyId }) => {
    const listed = (await controlPlane.listKeys(other))._unsafeUnwrap();
    expect(listed.map(({ id }) => id)).not.toContain(keyId);
  },
  revokeKey: async (controlPlane, other, { keyId }) => {
    expect((await controlPlane.revokeKey(other, { id: keyId }))._unsafeUnwrapErr().kind).toBe("not_found");
  },
  issueToken: async (controlPlane, other) => {
    const { access_token } = (await controlPlane.issueToken(other))._unsafeUnwrap();
    const principal = (await controlPlane.authenticate({ authorization: `Bearer ${access_token}` }))._unsafeUnwrap();
    expect(principal.account).toBe(other.account);
  },
};

const prepare = async () => {
  const platform = startMemory();
  const set = { name: "API_KEY", value: "s3cret" };
  (await platform.controlPlane.setSecret(platform.principal(), set))._unsafeUnwrap();
  const records = await deployed(platform, { env: { TOKEN: "s3cret", API_KEY: { secret: "API_KEY" } } });
  const key = (await platform.controlPlane.createKey(platform.principal(), { label: "acme's" }))._unsafeUnwrap();
  const { controlPlane, principal, memory } = platform;
  (await controlPlane.addDomain(principal(), { domain: "app.example.com", name: "app" }))._unsafeUnwrap();
  memory.billing.subscribe(principal().account, { ...freeSubscription("any"), plan: "pro" });
  for (const name of ["old", "data"]) (await controlPlane.createVolume(principal(), { name }))._unsafeUnwrap();
  const put = (await controlPlane.grantUpload(principal(), { volume: "data", object: "a.txt" }))._unsafeUnwrap();
  await fetch(inOnePiece(put).url, { method: "PUT", body: "mine" });
  const parts = { volume: "data", object: "large", resumable: true, size: 1 };
  const begun = (await controlPlane.grantUpload(principal(), parts))._unsafeUnwrap();
  const uploadId = "upload_id" in begun ? begun.upload_id : "";
  (await controlPlane.deleteVolume(principal(), { name: "old" }))._unsafeUnwrap();
  const [trashed] = (await controlPlane.listTrash(principal()))._unsafeUnwrap();
  (await controlPlane.signIn({ key: key.key }, "::1"))._unsafeUnwrap();
  const { sessions } = (await controlPlane.listSessions(principal()))._unsafeUnwrap();
  const secrets = {
    deployId: records[0]?.deploy_id ?? "",
    keyId: key.id,
    trashId: trashed?.id ?? "",
    sessionId: sessions[0]?.id ?? "",
    uploadId,
  };
  return { platform, secrets, key: key.key };
};

test("covers every method of the control plane", async () => {
  const { platform } = await prepare();
  expect(Object.keys(attempts).sort()).toEqual(
    Object.keys(platform.controlPlane)
      .filter((name) => name !== "settings")
      .sort(),
  );
});

const tried = Object.entries(attempts).filter((entry): entry is [string, Attempt] => typeof entry[1] === "function");

test.each(tried)("%s reveals and changes nothing of another account", async (_method, attempt) => {
  const { platform, secrets, key } = await prepare();
  const { controlPlane, principal } = platform;
  const mine = async () => ({
    deployments: (await controlPlane.listDeployments(principal()))._unsafeUnwrap(),
    releases: (await controlPlane.listReleases(principal(), { name: "app" }))._unsafeUnwrap(),
    logs: (await controlPlane.readLogs(principal(), { deployment_name: "app" }))._unsafeUnwrap(),
    volumes: (await controlPlane.listVolumes(principal()))._unsafeUnwrap(),
    objects: (await controlPlane.listObjects(principal(), { volume: "data" }))._unsafeUnwrap(),
    trash: (await controlPlane.listTrash(principal()))._unsafeUnwrap(),
    secrets: (await controlPlane.listSecrets(principal()))._unsafeUnwrap(),
    domains: (await controlPlane.listDomains(principal()))._unsafeUnwrap(),
    keys: (await controlPlane.listKeys(principal()))._unsafeUnwrap(),
    sessions: (await controlPlane.listSessions(principal()))._unsafeUnwrap(),
    usage: (await controlPlane.getAccountUsage(principal()))._unsafeUnwrap(),
    subscription: (await controlPlane.getSubscription(principal()))._unsafeUnwrap(),
  });
  const before = await mine();
  await attempt(controlPlane, principal("other"), secrets);
  expect(await mine()).toEqual(before);
  expect((await controlPlane.authenticate({ apiKey: key })).isOk()).toBe(true);
});

test("errors reveal neither the owner nor a variable", async () => {
  const { platform } = await prepare();
  const { controlPlane, principal } = platform;
  const answers = [
    await controlPlane.deleteDeployment(principal("other"), { name: "app" }),
    await controlPlane.readLogs(principal("other"), { deployment_name: "app" }),
    await controlPlane.plan(principal("other"), { fields }),
  ];
  for (const answer of answers) expect(JSON.stringify(answer._unsafeUnwrapErr())).not.toMatch(/acme|s3cret/);
});

test("the log of a freed name stays with its former owner, and the next owner starts an empty one", async () => {
  const { platform } = await prepare();
  const { controlPlane, principal, clock } = platform;
  expect((await controlPlane.deleteDeployment(principal(), { name: "app" })).isOk()).toBe(true);
  const logs = async (account: string) => controlPlane.readLogs(principal(account), { deployment_name: "app" });
  expect((await logs("other"))._unsafeUnwrapErr().kind).toBe("forbidden");
  expect((await logs("acme"))._unsafeUnwrap().logs).toHaveLength(3);
  await clock.advance(7 * 86_400_000);
  expect((await logs("other"))._unsafeUnwrapErr().kind).toBe("not_found");
  await deployed(platform, {}, "other");
  const theirs = (await logs("other"))._unsafeUnwrap().logs.map(({ message }) => JSON.parse(message).status);
  expect(theirs).toEqual(["BUILDING", "DONE"]);
  expect((await logs("acme"))._unsafeUnwrapErr().kind).toBe("forbidden");
});
