/** How a server recovers from the crash of its predecessor. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openState } from "../../../../adapters/local/state/database.ts";
import { DeployRows } from "../../../../adapters/local/state/deploys.ts";
import { ServiceRows } from "../../../../adapters/local/state/services.ts";
import { deployEntry } from "../../../../core/domain/logs/entry.ts";
import type { Timestamp } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { testOrigin } from "../../../contracts/support.ts";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { principalOf, startLocalIn, type TestPlatform } from "../../../support/providers/local-platform.ts";
import { templateOf } from "./model.ts";

const acme = principalOf("acme");
const app = "app" as DeploymentName;
const now = "2026-01-01T00:00:00+00:00" as Timestamp;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "portside-recovery-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Leaves the folder like a server that was killed during a deploy of `app`. */
const killedInDeploy = (deployId: string, step: "BUILDING" | "DEPLOYING"): void => {
  const db = openState(folder);
  let etags = 0;
  const rows = new ServiceRows(db, () => `etag-${deployId}-${etags++}`);
  const present = rows.get(app);
  const expected = present === undefined ? "absent" : { etag: present.etag, owner: acme.account };
  if (step === "DEPLOYING") rows.begin(templateOf(app, acme.account, deployId), expected, now);
  const note = { deployId, name: app, owner: acme.account, status: step, reason: null, finishedAt: null };
  new DeployRows(db).note(note, present !== undefined);
  db.close();
};

/** Leaves the folder like a server that was killed right after traffic moved to a deploy's revision. */
const killedAfterTraffic = (deployId: string): void => {
  killedInDeploy(deployId, "DEPLOYING");
  const db = openState(folder);
  const rows = new ServiceRows(db, () => `etag-${deployId}-served`);
  rows.commit(app, rows.get(app)?.rolling?.id as string, now, testOrigin);
  db.close();
};

/** The final deploy records in the log of `app`. */
const finalRecords = async (platform: Awaited<ReturnType<typeof startLocalIn>>) => {
  const { logs } = (
    await platform.controlPlane.readLogs(acme, { deployment_name: "app", limit: 1000 })
  )._unsafeUnwrap();
  return logs.flatMap(({ message }) => {
    const entry = message.startsWith("{") ? JSON.parse(message) : {};
    return entry.event === "deploy" && ["DONE", "ERROR"].includes(entry.status)
      ? [[entry.deploy_id, entry.status, entry.reason]]
      : [];
  });
};

test("a deploy whose traffic has moved is DONE in the list and the log, after any number of crashes", async () => {
  killedAfterTraffic("first");
  for (let n = 0; n < 2; n++) {
    await using platform = await startLocalIn(folder, { runner: "process" });
    const [service] = (await platform.local.provider.services.list(acme.account))._unsafeUnwrap();
    expect(service?.lastDeploy).toMatchObject({ deployId: "first", status: "DONE", reason: null });
    expect(await finalRecords(platform)).toEqual([["first", "DONE", undefined]]);
  }
});

test("a redeploy that was killed before traffic moved is interrupted, and the service still serves", async () => {
  killedAfterTraffic("first");
  await (await startLocalIn(folder, { runner: "process" }))[Symbol.asyncDispose]();
  killedInDeploy("second", "DEPLOYING");
  await using platform = await startLocalIn(folder, { runner: "process" });
  const [listed] = (await platform.controlPlane.listDeployments(acme))._unsafeUnwrap();
  expect(listed?.last_deploy).toMatchObject({ deploy_id: "second", status: "ERROR", reason: "interrupted" });
});

/** The ends of deploys in the log of `app`. */
const ends = async (platform: Awaited<ReturnType<typeof startLocalIn>>) => {
  const { logs } = (
    await platform.controlPlane.readLogs(acme, { deployment_name: "app", limit: 1000 })
  )._unsafeUnwrap();
  return logs.flatMap(({ message }) => {
    const entry = message.startsWith("{") ? JSON.parse(message) : {};
    return entry.event === "deploy" && entry.reason !== undefined ? [[entry.deploy_id, entry.reason]] : [];
  });
};

describe.each(["BUILDING", "DEPLOYING"] as const)("killed while %s", (step) => {
  test("a redeploy is interrupted in the list and the log, and the previous revision serves", async () => {
    const first = await startLocalIn(folder, { runner: "process" });
    const url = await first.up(nodeSource(helloServer("old")));
    const before = (await first.controlPlane.listDeployments(acme))._unsafeUnwrap()[0];
    await first[Symbol.asyncDispose]();
    killedInDeploy("second", step);

    await using second = await startLocalIn(folder, { runner: "process" });
    const listed = (await second.controlPlane.listDeployments(acme))._unsafeUnwrap();
    expect(listed).toMatchObject([
      { name: "app", status: "READY", revision: before?.revision, memory: before?.memory },
    ]);
    expect(listed[0]?.last_deploy).toMatchObject({ deploy_id: "second", status: "ERROR", reason: "interrupted" });
    expect(listed[0]?.last_deploy?.finished_at).not.toBeNull();
    expect(await (await fetch(url)).text()).toBe("old");
    expect(await ends(second)).toEqual([["second", "interrupted"]]);
    expect(await second.up(nodeSource(helloServer("new")))).toBe(url);
    expect(await (await fetch(url)).text()).toBe("new");
  });

  test("a first deploy leaves only its log", async () => {
    killedInDeploy("first", step);
    await using platform = await startLocalIn(folder, { runner: "process" });
    expect((await platform.controlPlane.listDeployments(acme))._unsafeUnwrap()).toEqual([]);
    expect(await ends(platform)).toEqual([["first", "interrupted"]]);
    const check = await platform.controlPlane.checkName(principalOf("others"), { name: "app" });
    expect(check._unsafeUnwrap().available).toBe(true);
    await platform.up(nodeSource(helloServer("now")));
    const [listed] = (await platform.controlPlane.listDeployments(acme))._unsafeUnwrap();
    expect(listed?.last_deploy).toMatchObject({ status: "DONE" });
  });
});

test("stores the end of a deploy from the log, without a second entry", async () => {
  const first = await startLocalIn(folder, { runner: "process" });
  const news = { status: "ERROR", reason: "volume_unavailable", message: "It was deleted." } as const;
  (await first.local.provider.logs.append([deployEntry(acme.account, app, "cut", news)]))._unsafeUnwrap();
  await first[Symbol.asyncDispose]();
  killedInDeploy("cut", "BUILDING");
  for (let n = 0; n < 2; n++) {
    await using platform = await startLocalIn(folder, { runner: "process" });
    expect(await ends(platform)).toEqual([["cut", "volume_unavailable"]]);
  }
});

test("further starts after the recovery change nothing, and repeat no entry", async () => {
  killedInDeploy("first", "DEPLOYING");
  for (let n = 0; n < 3; n++) {
    await using platform = await startLocalIn(folder, { runner: "process" });
    expect(await ends(platform)).toEqual([["first", "interrupted"]]);
  }
});

test("flushes the log entry before the server is ready, so that a second crash does not lose it", async () => {
  killedInDeploy("first", "BUILDING");
  await using _platform = await startLocalIn(folder, { runner: "process" });
  const [file] = readdirSync(join(folder, "logs")).filter((name) => name.endsWith(".sqlite"));
  const log = new DatabaseSync(join(folder, "logs", file as string), { readOnly: true });
  expect(
    log
      .prepare("SELECT json FROM entries")
      .all()
      .map(({ json }) => JSON.parse(json as string).reason),
  ).toEqual(["interrupted"]);
  log.close();
});

test("starts and logs if a file has the name of the logs folder", async () => {
  killedInDeploy("first", "BUILDING");
  writeFileSync(join(folder, "logs"), "a file where the folder should be");
  await using platform = await startLocalIn(folder, { runner: "process" });
  const url = await platform.up(nodeSource(`console.log("heard"); ${helloServer("served")}`));
  expect(await (await fetch(url)).text()).toBe("served");
  const read = () => platform.controlPlane.readLogs(acme, { deployment_name: "app", limit: 100 });
  await expect.poll(async () => (await read())._unsafeUnwrap().logs.map(({ message }) => message)).toContain("heard");
});

test("removes folders of ended instances, sources and unfinished images, and keeps complete ones", async () => {
  const first = await startLocalIn(folder, { runner: "process" });
  await first.up(nodeSource(helloServer("old")));
  await first[Symbol.asyncDispose]();
  const [owner] = readdirSync(join(folder, "images"));
  const images = join(folder, "images", owner as string);
  const [whole] = readdirSync(images);
  for (const path of ["run/dead/closed", "spool", `images/${owner}/${"0".repeat(32)}/app.half`])
    mkdirSync(join(folder, path), { recursive: true });
  writeFileSync(join(folder, "run", "dead", "file"), "");
  writeFileSync(join(folder, "spool", "upload.tar.gz"), "");

  await using platform = await startLocalIn(folder, { runner: "process" });
  expect(readdirSync(join(folder, "run"))).toEqual([]);
  expect(existsSync(join(folder, "spool", "upload.tar.gz"))).toBe(false);
  expect(readdirSync(images)).toEqual([whole]);
  expect((await platform.controlPlane.listDeployments(acme))._unsafeUnwrap().length).toBe(1);
});

test("shows a volume again if its deletion was interrupted", async () => {
  const namesOf = async ({ controlPlane }: TestPlatform) =>
    (await controlPlane.listVolumes(acme))._unsafeUnwrap().map(({ name }) => name);
  {
    await using platform = await startLocalIn(folder, { runner: "process" });
    (await platform.controlPlane.createVolume(acme, { name: "data" }))._unsafeUnwrap();
    const { volumes } = platform.local.provider;
    for (const volume of (await volumes.list(acme.account))._unsafeUnwrap())
      (await volumes.beginDelete(volume))._unsafeUnwrap();
    expect(await namesOf(platform)).toEqual([]);
  }
  await using platform = await startLocalIn(folder, { runner: "process" });
  expect(await namesOf(platform)).toEqual(["data"]);
});
