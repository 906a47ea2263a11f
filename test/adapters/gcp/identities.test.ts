/** Runtime identities, against IAM's fake: one an account, its rights on its buckets, never a default one. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createIdentities, type Identities } from "../../../adapters/gcp/identities.ts";
import { identityProblem, runtimeIdentityOf } from "../../../adapters/gcp/service-accounts.ts";
import { createPretendedEngine } from "../../fakes/engine/engine.ts";
import { openRunWorld, type RunWorld } from "../../fakes/gcp/run/world.ts";
import { PROJECT } from "../../fakes/gcp/test-project.ts";
import { createLeapingClock } from "../../support/leaping-clock.ts";
import { accountOf } from "../../support/brands.ts";
import { silentLogger } from "../../support/silent-logger.ts";

let world: RunWorld;
let identities: Identities;
beforeAll(async () => {
  world = await openRunWorld({ engine: createPretendedEngine });
});
afterAll(() => world.close());
beforeEach(() => {
  world.iam.accounts.clear();
  world.iam.faults.clear();
  Object.assign(world.iam, { looksUntilVisible: 0, most: 100 });
  world.storage.world.live.delete("vol");
  world.storage.world.insertBucket({ name: "vol" });
  identities = createIdentities(PROJECT, world.clients, { clock: createLeapingClock(), logger: silentLogger });
});

const ensured = async (account: string) => (await identities.ensure(accountOf(account)))._unsafeUnwrap();

test("an account's identity is made once, and says nothing of whose it is", async () => {
  const email = await ensured("somebody@example.com");
  expect(await ensured("somebody@example.com")).toBe(email);
  expect(world.iam.faults.count("iam.create")).toBe(1);
  expect(JSON.stringify([...world.iam.accounts.values()])).not.toContain("somebody");
  expect(email).toBe(runtimeIdentityOf(PROJECT, accountOf("somebody@example.com")));
});

test("replicas that make it at once have the same one", async () => {
  const emails = await Promise.all([1, 2, 3].map(() => ensured("acme")));
  expect(new Set(emails).size).toBe(1);
});

test("one that never shows, and one for which there is no room, are outages with a cause", async () => {
  world.iam.looksUntilVisible = 1000;
  expect((await identities.ensure(accountOf("late")))._unsafeUnwrapErr().message).toContain("slow to show");
  world.iam.most = world.iam.accounts.size;
  expect((await identities.ensure(accountOf("full")))._unsafeUnwrapErr().kind).toBe("unavailable");
});

test("rights on a bucket are added once, beside what is there; a bucket that is gone has none", async () => {
  const bucket = world.storage.world.bucket("vol");
  bucket.policy.bindings.push({ role: "roles/storage.admin", members: ["user:ops@example.com"] });
  for (let round = 0; round < 2; round++) expect((await identities.allow("vol", "a@b"))._unsafeUnwrap()).toBe(true);
  expect(bucket.policy.bindings).toEqual([
    { role: "roles/storage.admin", members: ["user:ops@example.com"] },
    { role: "roles/storage.objectUser", members: ["serviceAccount:a@b"] },
  ]);
  expect((await identities.allow("none", "a@b"))._unsafeUnwrap()).toBe(false);
});

test("rights that others give at the same time are not undone", async () => {
  const members = ["a@b", "c@d", "e@f"];
  const allowed = await Promise.all(members.map((email) => identities.allow("vol", email)));
  expect(allowed.map((one) => one._unsafeUnwrap())).toEqual([true, true, true]);
  const given = world.storage.world.bucket("vol").policy.bindings.flatMap((binding) => binding.members);
  expect(given.sort()).toEqual(members.map((email) => `serviceAccount:${email}`));
});

test.each([
  ["portside-builds@p.iam.gserviceaccount.com", undefined],
  ["1234-compute@developer.gserviceaccount.com", "Compute Engine's default identity"],
  ["1234@cloudbuild.gserviceaccount.com", "Cloud Build's default identity"],
  ["p@appspot.gserviceaccount.com", "App Engine's default identity"],
  ["somebody@example.com", "is not a service account's address"],
])("%s as an identity", (email, problem) => {
  if (problem === undefined) expect(identityProblem(email)).toBeUndefined();
  else expect(identityProblem(email)).toContain(problem);
});

test("an identity's id has as many characters as IAM takes", () => {
  const [id = ""] = runtimeIdentityOf("p", accountOf("acme")).split("@");
  expect(id).toMatch(/^[a-z][a-z0-9-]{4,28}[a-z0-9]$/);
  expect(runtimeIdentityOf("example.com:p", accountOf("acme"))).toMatch(/@p\.example\.com\.iam\.gserviceaccount\.com$/);
});
