/** Cloud Build as the builder, against the fake: what it asks for, how it fails, how it ends, and what it does not do twice. */

import { createHash } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createCloudBuilder } from "../../../../adapters/gcp/build/builder.ts";
import { createBuilds } from "../../../../adapters/gcp/build/builds.ts";
import type { ClientSource } from "../../../../adapters/gcp/clients.ts";
import type { GcpConfig } from "../../../../adapters/gcp/config.ts";
import { googleCalls } from "../../../../adapters/gcp/google.ts";
import { createSystemClock, randomIds } from "../../../../adapters/shared/system.ts";
import { plusMillis } from "../../../../core/domain/instant.ts";
import type { BuildEvent } from "../../../../core/ports/image-builder.ts";
import type { Source } from "../../../../core/ports/source-spool.ts";
import type { Clock } from "../../../../core/ports/system.ts";
import { collect } from "../../../contracts/support.ts";
import { createPretendedEngine } from "../../../fakes/engine/engine.ts";
import type { FaultKind } from "../../../fakes/faults.ts";
import type { FakeBuildDeps } from "../../../fakes/gcp/build/builds.ts";
import { config, openRunWorld, type RunWorld, STAGING } from "../../../fakes/gcp/run/world.ts";
import { nodeSource, sourceOf } from "../../../support/archives.ts";
import { accountOf, nameOf } from "../../../support/brands.ts";
import { createLeapingClock } from "../../../support/leaping-clock.ts";
import { keepingLogger } from "../../../support/silent-logger.ts";

let world: RunWorld;
let engineBuild: FakeBuildDeps["build"];
let builds = 0;
let since = 0;
let node: Source;
beforeAll(async () => {
  world = await openRunWorld({
    engine: async (onLine) => ({
      ...(await createPretendedEngine(onLine)),
      build: (...args) => {
        builds += 1;
        return engineBuild(...args);
      },
    }),
  });
});
afterAll(() => world.close());

let sources = 0;
beforeEach(() => {
  engineBuild = async () => ({ image: "hello" });
  world.build.outcome = undefined;
  for (const fake of fakes) world[fake].faults.clear();
  builds = 0;
  since = world.build.builds.length;
  node = sourceFrom(nodeSource(`source ${++sources}`));
});

/** The builds that the test has started. */
const begun = () => world.build.builds.slice(since);

const { logger, said } = keepingLogger();

const sourceFrom = (bytes: Uint8Array): Source => ({
  digest: `sha256:${createHash("sha256").update(bytes).digest("hex")}`,
  bytes: bytes.length,
  open: async function* () {
    for (let at = 0; at < bytes.length; at += 100) yield bytes.subarray(at, at + 100);
  },
  discard: async () => undefined,
});

interface Options {
  readonly source?: Source;
  readonly owner?: string;
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
  readonly more?: Partial<GcpConfig>;
}

const build = async ({ source = node, owner = "acme", signal, clock = createLeapingClock(), more }: Options = {}) => {
  const ambient = { clock, ids: randomIds, logger, random: () => 0.5 };
  const builder = createCloudBuilder({ ...config, ...more }, world.clients, ambient);
  const request = { owner: accountOf(owner), name: nameOf("app"), deployId: "d", source };
  return collect(builder.build(request, signal === undefined ? {} : { signal }));
};

const linesOf = (events: readonly BuildEvent[]) =>
  events.flatMap((event) => (event.kind === "progress" ? [event.message] : []));

test("a source without a Dockerfile is built with buildpacks, as the build's own identity, its log in our own bucket", async () => {
  const end = (await build()).at(-1);
  const [request] = begun();
  expect(request).toMatchObject({
    serviceAccount: "projects/test-project/serviceAccounts/builds@test-project.iam.gserviceaccount.com",
    steps: [{ name: "gcr.io/k8s-skaffold/pack" }],
    images: [end?.kind === "built" ? end.image : ""],
    options: { logging: "GCS_ONLY", logStreamingOption: "STREAM_ON" },
    logsBucket: `gs://${STAGING}/logs`,
    source: { storageSource: { bucket: STAGING } },
  });
  // The network on which the identity's credentials are to be had.
  expect(JSON.stringify(request?.steps)).not.toContain('cloudbuild"');
  expect(request?.steps[0].args).not.toContain("--network");
});

test.each(["Dockerfile", "./Dockerfile"])("a source with %s is built with Docker", async (path) => {
  await build({ source: sourceFrom(sourceOf({ "a/b.txt": "x", [path]: "FROM scratch\n" })) });
  expect(begun()[0]?.steps).toMatchObject([{ name: "gcr.io/cloud-builders/docker" }]);
});

test("a Dockerfile further down is not the source's own", async () => {
  await build({ source: sourceFrom(sourceOf({ "docs/Dockerfile": "FROM scratch\n", "package.json": "{}" })) });
  expect(begun()[0]?.steps).toMatchObject([{ name: "gcr.io/k8s-skaffold/pack" }]);
});

test("the log is said line by line while it grows, and whole", async () => {
  engineBuild = async (_archive, say) => {
    for (let line = 1; line <= 40; line++) {
      say(`line ${line} grüß`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return { image: "hello" };
  };
  const lines = linesOf(await build({ clock: createSystemClock() })).filter((line) => line.startsWith("line "));
  expect(lines).toEqual(Array.from({ length: 40 }, (_, index) => `line ${index + 1} grüß`));
});

test("what was built before is not staged and not built again", async () => {
  const first = (await build()).at(-1);
  for (const fake of fakes) world[fake].faults.clear();
  const again = await build();
  expect(again.at(-1)).toEqual(first);
  expect(linesOf(again)).toEqual(["This source was built before; its image is used again"]);
  expect([...world.build.faults.log, ...world.storage.faults.log]).toEqual([]);
  // Another account builds its own.
  expect((await build({ owner: "globex" })).at(-1)).not.toEqual(first);
  expect(builds).toBe(2);
});

test("no account's name is in a name at Google", async () => {
  await build({ owner: "acme-the-account" });
  expect(JSON.stringify(begun())).not.toContain("acme");
});

test.each([
  "1234-compute@developer.gserviceaccount.com",
  "1234@cloudbuild.gserviceaccount.com",
  "test-project@appspot.gserviceaccount.com",
  "somebody@example.com",
])("nothing is built as %s", async (buildIdentity) => {
  expect((await build({ more: { buildIdentity } })).at(-1)).toMatchObject({
    kind: "failed",
    failure: { reason: "permission" },
  });
  expect(begun()).toEqual([]);
});

const failure = (type: string, more: object = {}) => ({ status: "FAILURE", failureInfo: { type }, ...more });

test.each([
  [
    failure("USER_BUILD_STEP", { steps: [{ status: "FAILURE", exitCode: 3 }] }),
    { reason: "build_failed", exitCode: 3 },
  ],
  [failure("PUSH_FAILED"), { reason: "provider_unavailable" }],
  [failure("PUSH_IMAGE_NOT_FOUND"), { reason: "build_failed" }],
  [failure("PUSH_NOT_AUTHORIZED"), { reason: "permission" }],
  [failure("LOGGING_FAILURE"), { reason: "provider_unavailable" }],
  [failure("FETCH_SOURCE_FAILED"), { reason: "provider_unavailable" }],
  [failure("FAILURE_TYPE_UNSPECIFIED"), { reason: "build_failed" }],
  [{ status: "INTERNAL_ERROR" }, { reason: "provider_unavailable" }],
  [{ status: "TIMEOUT" }, { reason: "build_timeout" }],
  [{ status: "EXPIRED" }, { reason: "build_timeout" }],
  [{ status: "CANCELLED" }, { reason: "interrupted" }],
])("a build that ended with %j", async (outcome, expected) => {
  world.build.outcome = outcome;
  const end = (await build()).at(-1);
  expect(end).toMatchObject({ kind: "failed", failure: expected });
  expect(end?.kind === "failed" && end.failure.message).not.toBe("");
});

test("a source that no buildpack knows says so", async () => {
  engineBuild = async () => ({ failure: { reason: "no_builder", message: "nothing" } });
  expect((await build()).at(-1)).toMatchObject({ kind: "failed", failure: { reason: "no_builder" } });
});

test("an abort cancels the build, within five seconds, and the source can be built again", async () => {
  const abort = new AbortController();
  engineBuild = (_archive, _say, signal) =>
    new Promise((resolve) => {
      signal.addEventListener("abort", () => resolve({ image: "late" }));
      abort.abort();
    });
  const clock = createLeapingClock();
  const startedAt = clock.now();
  const end = (await build({ signal: abort.signal, clock })).at(-1);
  expect(end).toMatchObject({ kind: "failed", failure: { reason: "interrupted" } });
  expect(clock.now()).toBeLessThan(plusMillis(startedAt, 5000));
  expect(begun().map(({ status }) => status)).toEqual(["CANCELLED"]);
  engineBuild = async () => ({ image: "hello" });
  expect((await build()).at(-1)?.kind).toBe("built");
});

const passing: readonly FaultKind[] = ["unavailable", "resource_exhausted", "reply_lost"];
const fakes = ["registry", "storage", "build"] as const;

test("a fault at any single call: what passes is passed over, what does not ends with a cause; a repeat completes it", async () => {
  await build({ source: sourceFrom(nodeSource("counted")) });
  const calls = fakes.flatMap((fake) =>
    world[fake].faults.log.map((method, index) => ({ fake, nth: index + 1, method })),
  );
  expect(calls.length).toBeGreaterThan(5);
  let round = 0;
  for (const { fake, nth, method } of calls)
    for (const kind of [...passing, "permission_denied"] as const) {
      const source = sourceFrom(nodeSource(`round ${++round}`));
      const before = world.build.builds.length;
      for (const one of fakes) world[one].faults.clear();
      world[fake].faults.inject({ nth, kind });
      const end = (await build({ source })).at(-1);
      const what = `${kind} at ${fake} ${nth} (${method})`;
      for (const one of fakes) world[one].faults.clear();
      if (end?.kind !== "built") {
        expect(passing, what).not.toContain(kind);
        expect(end, what).toMatchObject({ kind: "failed", failure: { reason: "permission" } });
        // None goes on that nobody looks at.
        for (const one of world.build.builds.slice(before)) expect(one.status, what).not.toBe("WORKING");
      } else expect(world.build.builds.length - before, `${what}: one build, not two`).toBe(1);
      expect((await build({ source })).at(-1)?.kind, `${what}, then again`).toBe("built");
    }
});

test("a refusal of the platform's own rights is in the operator's log", async () => {
  world.build.faults.inject({ nth: 1, kind: "permission_denied" });
  await build();
  expect(said.some((line) => line.includes("refuses a call of this platform"))).toBe(true);
});

test("a start that names no build is not made over and over", async () => {
  let starts = 0;
  const client = {
    createBuild: async () => {
      starts += 1;
      if (starts > 100) throw new Error("it goes on for ever");
      return [{ metadata: null }];
    },
    listBuilds: async () => [[]],
  };
  const clock = createLeapingClock();
  const calls = googleCalls({ clock, logger });
  const started = createBuilds(config as GcpConfig, (async () => client) as unknown as ClientSource, calls, clock);
  const leaving = AbortSignal.abort();
  expect((await started.start({}, "mark", leaving))._unsafeUnwrapErr()).toMatchObject({ kind: "unavailable" });
  expect(starts).toBe(1);
});
