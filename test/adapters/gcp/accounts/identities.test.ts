/** Runtime identities on the IAM fake: one per account, access to its own buckets, never a default identity. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { createIdentities, type Identities } from "../../../../adapters/gcp/accounts/identities.ts";
import { identityProblem, runtimeIdentityOf } from "../../../../adapters/gcp/accounts/service-accounts.ts";
import type { ClientSource } from "../../../../adapters/gcp/clients.ts";
import { createFakeEngine } from "../../../fakes/engine/engine.ts";
import { redirectedAuth } from "../../../fakes/gcp/rest-server.ts";
import { openRunWorld, type RunWorld } from "../../../fakes/gcp/run/world.ts";
import { PROJECT } from "../../../fakes/gcp/test-project.ts";
import { createLeapingClock } from "../../../support/clocks/leaping-clock.ts";
import { accountOf } from "../../../support/http/brands.ts";
import { silentLogger } from "../../../support/logs/silent-logger.ts";

let world: RunWorld;
let identities: Identities;
beforeAll(async () => {
  world = await openRunWorld({ engine: createFakeEngine });
});
afterAll(() => world.close());
beforeEach(() => {
  world.iam.accounts.clear();
  world.iam.faults.clear();
  world.iam.readsUntilVisible = 0;
  world.iam.maxAccounts = 100;
  world.storage.world.live.delete("vol");
  world.storage.world.insertBucket({ name: "vol" });
  identities = createIdentities(PROJECT, world.clients, { clock: createLeapingClock(), logger: silentLogger });
});

const ensured = async (account: string) => (await identities.ensure(accountOf(account)))._unsafeUnwrap();

test("creates an account's identity once, with a name that does not reveal the account", async () => {
  const email = await ensured("someuser@example.com");
  expect(await ensured("someuser@example.com")).toBe(email);
  expect(world.iam.faults.count("iam.create")).toBe(1);
  expect(JSON.stringify([...world.iam.accounts.values()])).not.toContain("someuser");
  expect(email).toBe(runtimeIdentityOf(PROJECT, accountOf("someuser@example.com")));
});

test("concurrent replicas get the same identity", async () => {
  const emails = await Promise.all([1, 2, 3].map(() => ensured("acme")));
  expect(new Set(emails).size).toBe(1);
});

test("an identity that never appears, or exceeds the quota, is unavailable with a cause", async () => {
  world.iam.readsUntilVisible = 1000;
  expect((await identities.ensure(accountOf("late")))._unsafeUnwrapErr().message).toContain("not available yet");
  world.iam.maxAccounts = world.iam.accounts.size;
  expect((await identities.ensure(accountOf("full")))._unsafeUnwrapErr().kind).toBe("unavailable");
});

test("grants access to a bucket once and keeps other grants; reports a missing bucket", async () => {
  const bucket = world.storage.world.bucket("vol");
  bucket.policy.bindings.push({ role: "roles/storage.admin", members: ["user:ops@example.com"] });
  for (let round = 0; round < 2; round++) expect((await identities.allow("vol", "a@b"))._unsafeUnwrap()).toBe(true);
  expect(bucket.policy.bindings).toEqual([
    { role: "roles/storage.admin", members: ["user:ops@example.com"] },
    { role: "roles/storage.objectUser", members: ["serviceAccount:a@b"] },
  ]);
  expect((await identities.allow("none", "a@b"))._unsafeUnwrap()).toBe(false);
});

test("does not undo concurrent grants of others", async () => {
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
  ["someuser@example.com", "is not a service account."],
])("validates the identity %s", (email, problem) => {
  if (problem === undefined) expect(identityProblem(email)).toBeUndefined();
  else expect(identityProblem(email)).toContain(problem);
});

test("an identity's id has a valid length for IAM", () => {
  const [id = ""] = runtimeIdentityOf("p", accountOf("acme")).split("@");
  expect(id).toMatch(/^[a-z][a-z0-9-]{4,28}[a-z0-9]$/);
  expect(runtimeIdentityOf("example.com:p", accountOf("acme"))).toMatch(/@p\.example\.com\.iam\.gserviceaccount\.com$/);
});

/** An IAM that never responds, as behind a firewall that drops packets. */
const silentIam = async () => {
  const server = createServer(() => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const auth = redirectedAuth(PROJECT, { "https://iam.googleapis.com": `http://127.0.0.1:${port}` });
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { auth, close };
};

test("an abort ends a pending IAM call as unavailable", async () => {
  const { auth, close } = await silentIam();
  const clients = (async () => auth) as unknown as ClientSource;
  const silent = createIdentities(PROJECT, clients, { clock: createLeapingClock(), logger: silentLogger });
  const leaving = new AbortController();
  setTimeout(() => leaving.abort(), 50);
  const ensuring = silent.ensure(accountOf("acme"), { signal: leaving.signal });
  expect((await ensuring)._unsafeUnwrapErr().kind).toBe("unavailable");
  close();
});

test("every IAM call has a timeout", async () => {
  const asked: { timeout?: number }[] = [];
  const auth = { request: async (options: object) => void asked.push(options) };
  const clients = (async () => auth) as unknown as ClientSource;
  const watched = createIdentities(PROJECT, clients, { clock: createLeapingClock(), logger: silentLogger });
  expect((await watched.ensure(accountOf("acme"))).isOk()).toBe(true);
  expect(asked.map(({ timeout }) => typeof timeout)).toEqual(["number"]);
});

test("fails with `unavailable` if a bucket policy never arrives", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const storage = { bucket: () => ({ iam: { getPolicy: () => new Promise(() => undefined) } }) };
  const clients = (async () => storage) as unknown as ClientSource;
  const silent = createIdentities(PROJECT, clients, {
    clock: createLeapingClock(),
    logger: silentLogger,
    random: () => 0.5,
  });
  let end: string | undefined;
  const allowing = silent.allow("vol", "a@b").then((allowed) => {
    end = allowed.isErr() ? allowed.error.kind : "allowed";
  });
  for (let minutes = 0; minutes < 60 && end === undefined; minutes++) await vi.advanceTimersByTimeAsync(60_000);
  vi.useRealTimers();
  expect(end).toBe("unavailable");
  await allowing;
});
