/** The engine's reads of the state, while another connection changes it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openState, type StateDatabase } from "../../../../adapters/local/state/database.ts";
import { ServiceRows } from "../../../../adapters/local/state/services.ts";
import { StoredState } from "../../../../adapters/local/state/stored-state.ts";
import { VolumeRows } from "../../../../adapters/local/state/volumes.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { DeploymentName, VolumeName } from "../../../../core/domain/wire/names.ts";
import { testOrigin } from "../../../contracts/support.ts";
import { day, names, owners, templateOf } from "./model.ts";

const [app, other] = names as [DeploymentName, DeploymentName];
const [acme, globex] = owners as [AccountId, AccountId];

let folder: string;
let db: StateDatabase;
let rows: ServiceRows;
let stored: StoredState;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "portside-state-"));
  db = openState(folder);
  let etags = 0;
  rows = new ServiceRows(db, () => `etag-${++etags}`);
  stored = new StoredState(folder);
});
afterEach(() => {
  stored[Symbol.dispose]();
  db.close();
  rmSync(folder, { recursive: true, force: true });
});

const begin = (name: DeploymentName, owner: AccountId): string => {
  const before = rows.get(name);
  const expected = before === undefined ? "absent" : { owner, etag: before.etag };
  const begun = rows.begin(templateOf(name, owner, "d1"), expected, day(1));
  if ("reason" in begun) throw new Error(begun.message);
  return begun.revision.id;
};

test("sees each committed change of the services, and no uncommitted one", () => {
  expect(stored.services()).toEqual([]);
  const first = begin(app, acme);
  expect(stored.services()).toEqual([{ name: app, owner: acme, createdAt: day(1), serving: null }]);
  db.exec("BEGIN");
  db.prepare("UPDATE services SET owner = ?, etag = 'other'").run(globex);
  expect(stored.services()).toMatchObject([{ owner: acme }]);
  db.exec("ROLLBACK");
  rows.commit(app, first, day(2), testOrigin);
  begin(other, acme);
  const [one, two] = stored.services();
  expect(one).toMatchObject({ name: app, serving: { id: first } });
  expect(two).toMatchObject({ name: other, serving: null });
  const second = begin(app, acme);
  expect(stored.services()[0]?.serving?.id).toBe(first);
  rows.commit(app, second, day(3), testOrigin);
  expect(stored.services().find(({ name }) => name === app)?.serving?.id).toBe(second);
  expect(stored.services().find(({ name }) => name === other)).toBe(two);
  rows.remove(app, acme, day(9));
  expect(stored.services()).toEqual([two]);
});

test("returns the names of an account's services, in order", () => {
  for (const name of [other, app]) begin(name, acme);
  expect(stored.namesOf(acme)).toEqual([app, other].sort());
  expect(stored.namesOf(globex)).toEqual([]);
});

test("a volume counts as live until it is in the trash", () => {
  const volumes = new VolumeRows(db);
  expect(stored.volumes.isLive("b")).toBe(false);
  volumes.insert({ id: "b", owner: acme, name: "data" as VolumeName, createdAt: day(1) });
  volumes.setHidden("b", true);
  expect(stored.volumes.isLive("b")).toBe(true);
  volumes.moveToTrash("b", day(2));
  expect(stored.volumes.isLive("b")).toBe(false);
});

test("notices a commit of another connection once", () => {
  expect(stored.hasChanged()).toBe(true);
  expect(stored.hasChanged()).toBe(false);
  begin(app, acme);
  expect(stored.hasChanged()).toBe(true);
  expect(stored.hasChanged()).toBe(false);
});
