/** Compares the rows of services with a model: conditional writes, and restarts. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openState } from "../../../../adapters/local/state/database.ts";
import { type Rollout, ServiceRows } from "../../../../adapters/local/state/services.ts";
import { SettingRows } from "../../../../adapters/local/state/settings.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { Expected } from "../../../../core/domain/deploy/plan.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { testOrigin } from "../../../contracts/support.ts";
import { runs } from "../../../support/vitest/runs.ts";
import { day, ModelComparison, names, owners, step, templateOf } from "./model.ts";

let folder: string;
let db: DatabaseSync;
let rows: ServiceRows;
let etags = 0;

const open = (): void => {
  db = openState(folder);
  rows = new ServiceRows(db, () => `etag-${++etags}`);
};

const reopen = (): ServiceRows => {
  db.close();
  open();
  return rows;
};

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "portside-state-"));
  open();
});
afterEach(() => {
  db.close();
  rmSync(folder, { recursive: true, force: true });
});

test("agrees with the model after any steps, including restarts", () => {
  const reached = { won: 0, lost: 0, ended: 0, interrupted: 0 };
  fc.assert(
    fc.property(fc.array(step, { minLength: 15, maxLength: 30 }), (steps) => {
      db.exec("DELETE FROM services; DELETE FROM freed; DELETE FROM releases;");
      reopen();
      const comparison = new ModelComparison(rows, reopen);
      for (const one of steps) comparison.take(one);
      for (const key of Object.keys(reached) as (keyof typeof reached)[]) reached[key] += comparison.counts[key];
    }),
    runs(60),
  );
  // The steps must reach the interesting states.
  for (const [what, times] of Object.entries(reached)) expect(times, what).toBeGreaterThan(10);
});

test("never reuses a revision number", () => {
  const [app] = names as [DeploymentName];
  const [acme] = owners as [AccountId];
  const begin = (expected: Expected) =>
    (rows.begin(templateOf(app, acme, "d"), expected, day(0)) as Rollout).revision.id;
  const seen = [begin("absent")];
  rows.commit(app, seen[0] as string, day(0), testOrigin);
  for (let n = 0; n < 3; n++) {
    seen.push(begin({ etag: rows.get(app)?.etag as string, owner: acme }));
    if (n === 1) rows.abandon(app, seen.at(-1) as string, day(0));
  }
  expect(seen).toEqual(["app-00001", "app-00002", "app-00003", "app-00004"]);
});

test("restores the reservation of a name after an interrupted first deploy", () => {
  const [app] = names as [DeploymentName];
  const [acme, others] = owners as [AccountId, AccountId];
  const first = rows.begin(templateOf(app, acme, "d1"), "absent", day(0)) as Rollout;
  rows.commit(app, first.revision.id, day(0), testOrigin);
  rows.remove(app, acme, day(7));
  rows.begin(templateOf(app, acme, "d2"), "absent", day(1));
  reopen();
  rows.recover(day(1));
  expect(rows.get(app)).toBeUndefined();
  expect(rows.present(app, day(1))).toEqual({ kind: "reserved", owner: acme });
  expect(rows.begin(templateOf(app, others, "d3"), "absent", day(1))).toMatchObject({ reason: "name_taken" });
});

test("forgets the ports of services whose first deploy was interrupted, and keeps those of others", () => {
  const [app, other] = names as [DeploymentName, DeploymentName];
  const [acme] = owners as [AccountId];
  const first = rows.begin(templateOf(app, acme, "d1"), "absent", day(0)) as Rollout;
  rows.commit(app, first.revision.id, day(0), testOrigin);
  rows.begin(templateOf(other, acme, "d2"), "absent", day(0));
  new SettingRows(db).keepPorts({ [app]: 20_001, [other]: 20_002 });
  reopen();
  rows.recover(day(1));
  expect(db.prepare("SELECT name, port FROM ports").all()).toEqual([{ name: app, port: 20_001 }]);
});
