/** The latest fires of schedules, in the engine's file. */
import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { silent } from "../../../../adapters/local/accounts/identity.ts";
import { openEngineFile } from "../../../../adapters/local/engine/engine-file.ts";
import {
  type FiredService,
  LastFires,
  lastFireReader,
  moveLastFires,
} from "../../../../adapters/local/schedules/last-fires.ts";
import { openState } from "../../../../adapters/local/state/database.ts";
import { insert } from "../../../../adapters/local/state/sql.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { LastFire } from "../../../../core/domain/schedules/fire-policy.ts";
import type { Timestamp } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { folderWith } from "../../../support/archives/folders.ts";

const service = (name: string, createdAt = "2026-01-01T00:00:00+00:00"): FiredService => ({
  owner: "acme" as AccountId,
  name: name as DeploymentName,
  createdAt: createdAt as Timestamp,
});
const app = service("app");

const fireOf = (status: number): LastFire => ({ at: "2026-01-02T00:00:00+00:00" as Timestamp, status, attempts: 1 });

const openIn = (dataDir: string) => {
  const db = openState(dataDir);
  moveLastFires(db, () => openEngineFile(dataDir, silent));
  const file = openEngineFile(dataDir, silent);
  const close = () => {
    file.close();
    db.close();
  };
  return { fires: new LastFires(file), find: lastFireReader(file, silent), [Symbol.dispose]: close };
};

/** Stores a fire as an earlier version did. */
const storeInState = (dataDir: string, { owner, name, createdAt }: FiredService, fire: LastFire): void => {
  using db = openState(dataDir);
  const times = { created_at: createdAt, updated_at: createdAt };
  insert(db, "INSERT OR REPLACE INTO services", {
    name,
    owner,
    ...times,
    etag: "1",
    revisions: 0,
    settled: 0,
    attempted: "{}",
  });
  insert(db, "INSERT OR REPLACE INTO schedules", { owner, name, job: "{}", last_fire: JSON.stringify(fire) });
};

test("returns no fire for a deployment that was created again", () => {
  using folder = folderWith();
  using opened = openIn(folder.path);
  opened.fires.note(app, fireOf(204));
  expect(opened.find(app)).toEqual(fireOf(204));
  expect(opened.find(service("app", "2026-01-03T00:00:00+00:00"))).toBeNull();
});

test("forgets the fires of removed schedules, even after a restart", () => {
  using folder = folderWith();
  {
    using opened = openIn(folder.path);
    for (const name of ["app", "other", "third"]) opened.fires.note(service(name), fireOf(204));
    opened.fires.retain([service("third")]);
  }
  using opened = openIn(folder.path);
  const found = ["app", "other", "third"].map((name) => opened.find(service(name))?.status);
  expect(found).toEqual([undefined, undefined, 204]);
});

test("moves the fires out of an earlier version's state, so they never reappear", () => {
  using folder = folderWith();
  storeInState(folder.path, app, fireOf(204));
  {
    using opened = openIn(folder.path);
    expect(opened.find(app)).toEqual(fireOf(204));
    opened.fires.note(app, fireOf(500));
  }
  {
    using opened = openIn(folder.path);
    expect(opened.find(app)).toEqual(fireOf(500));
  }
  rmSync(join(folder.path, "engine.sqlite"));
  using opened = openIn(folder.path);
  expect(opened.find(app)).toBeNull();
});

test("stores fires in a new file if the engine's file is missing or damaged", () => {
  using folder = folderWith();
  const path = join(folder.path, "engine.sqlite");
  const spoil = [() => rmSync(path), () => writeFileSync(path, "not a database ".repeat(1000))];
  for (const damage of spoil) {
    {
      using opened = openIn(folder.path);
      opened.fires.note(app, fireOf(204));
    }
    damage();
    using opened = openIn(folder.path);
    expect(opened.find(app)).toBeNull();
    opened.fires.note(app, fireOf(500));
    expect(opened.find(app)).toEqual(fireOf(500));
  }
});

test("a killed process keeps the latest fire", () => {
  using folder = folderWith();
  openState(folder.path).close();
  const script = `
    import { silent } from "./adapters/local/accounts/identity.ts";
    import { openEngineFile } from "./adapters/local/engine/engine-file.ts";
    import { LastFires } from "./adapters/local/schedules/last-fires.ts";
    const [folder, service, fire] = process.argv.slice(1);
    const fires = new LastFires(openEngineFile(folder, silent));
    fires.note(JSON.parse(service), JSON.parse(fire));
    process.kill(process.pid, "SIGKILL");
  `;
  const args = ["--input-type=module", "--eval", script, folder.path, JSON.stringify(app), JSON.stringify(fireOf(404))];
  const { signal, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  expect([signal, stderr]).toEqual(["SIGKILL", ""]);
  using opened = openIn(folder.path);
  expect(opened.find(app)).toEqual(fireOf(404));
});
