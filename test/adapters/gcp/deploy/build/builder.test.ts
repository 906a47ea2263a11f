/** Runs the tests of every cloud's builder on a fake Cloud Build, and tests the requests to Cloud Build. */
import { describe, expect, test } from "vitest";
import { googleCalls } from "../../../../../adapters/gcp/call-policy.ts";
import type { ClientSource } from "../../../../../adapters/gcp/clients.ts";
import type { GcpConfig } from "../../../../../adapters/gcp/config.ts";
import { createCloudBuilder } from "../../../../../adapters/gcp/deploy/build/builder.ts";
import { createBuilds } from "../../../../../adapters/gcp/deploy/build/builds.ts";
import { randomIds } from "../../../../../adapters/shared/runtime/system.ts";
import { type BuildCloud, buildTests, sourceFrom } from "../../../../clouds/builds.ts";
import { collect } from "../../../../contracts/support.ts";
import { createFakeEngine } from "../../../../fakes/engine/engine.ts";
import type { AdverseBehavior } from "../../../../fakes/gcp/adverse.ts";
import { config, openRunWorld, STAGING } from "../../../../fakes/gcp/run/world.ts";
import { sourceOf } from "../../../../support/archives/archives.ts";
import { createLeapingClock } from "../../../../support/clocks/leaping-clock.ts";
import { accountOf, nameOf } from "../../../../support/http/brands.ts";

const failure = (type: string, more: object = {}) => ({ status: "FAILURE", failureInfo: { type }, ...more });

type World = Awaited<ReturnType<typeof openRunWorld>>;
type Build = World["build"]["builds"][number];

const builderOf =
  (more: Partial<GcpConfig> = {}): BuildCloud<World, Build>["builder"] =>
  (world, deps) =>
    createCloudBuilder({ ...config, ...more }, world.clients, deps);

const cloudBuild: BuildCloud<World, Build> = {
  open: (engine) => openRunWorld({ engine }),
  builder: builderOf(),
  faultsOf: ({ registry, storage, build }) => ({
    registry: registry.faults,
    sources: storage.faults,
    builds: build.faults,
  }),
  builds: ({ build }) => build.builds,
  buildpacksGet: ({ steps: [{ args }] }) =>
    Object.fromEntries(
      (args as string[]).flatMap((arg, at) => {
        if (args[at - 1] !== "--env") return [];
        // As in Cloud Build, `$$` is a dollar sign, and an unknown variable is an error.
        expect(arg.replaceAll("$$", "")).not.toContain("$");
        return [
          arg
            .replaceAll("$$", () => "$")
            .split(/=(.*)/s)
            .slice(0, 2),
        ];
      }),
    ),
  endOf: ({ status }) => (["QUEUED", "WORKING"].includes(status) ? undefined : status),
  stopped: "CANCELLED",
  setOutcome: ({ build }, outcome) => {
    build.outcome = outcome;
  },
  outcomes: [
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
  ],
  names: () => [],
  close: (world) => world.close(),
};

const { build, startedBuilds, logger } = buildTests(cloudBuild);

const PACK = /^gcr\.io\/k8s-skaffold\/pack@sha256:[0-9a-f]{64}$/;

test("builds a source without a Dockerfile with buildpacks and the build identity, and logs to the staging bucket", async () => {
  expect((await build()).at(-1)).toEqual({
    kind: "built",
    image: expect.stringMatching(/^europe-west1-docker\.pkg\.dev\/[^:]+@sha256:[0-9a-f]{64}$/),
  });
  const [request] = startedBuilds();
  expect(request).toMatchObject({
    serviceAccount: "projects/test-project/serviceAccounts/builds@test-project.iam.gserviceaccount.com",
    steps: [{ name: expect.stringMatching(PACK) }],
    images: [expect.stringMatching(/^europe-west1-docker\.pkg\.dev\/[^@]+:[0-9a-f]{64}$/)],
    options: { logging: "GCS_ONLY", logStreamingOption: "STREAM_ON" },
    logsBucket: `gs://${STAGING}/logs`,
    source: { storageSource: { bucket: STAGING } },
  });
  // pack's own lifecycle image is on Docker Hub.
  const { args } = request?.steps[0] ?? {};
  expect(args[args.indexOf("--lifecycle-image") + 1]).toBe("gcr.io/buildpacks/builder:google-24");
  // The network `cloudbuild` gives access to the identity's credentials.
  expect(JSON.stringify(request?.steps)).not.toContain('cloudbuild"');
  expect(request?.steps[0].args).not.toContain("--network");
});

test.each(["Dockerfile", "./Dockerfile"])("builds a source with %s with Docker", async (path) => {
  await build({ source: sourceFrom(sourceOf({ "a/b.txt": "x", [path]: "FROM scratch\n" })) });
  expect(startedBuilds()[0]?.steps).toMatchObject([{ name: "gcr.io/cloud-builders/docker" }]);
});

test("ignores a Dockerfile in a subfolder", async () => {
  await build({ source: sourceFrom(sourceOf({ "docs/Dockerfile": "FROM scratch\n", "main.rb": "" })) });
  expect(startedBuilds()[0]?.steps).toMatchObject([{ name: expect.stringMatching(PACK) }]);
});

test.each([
  "1234-compute@developer.gserviceaccount.com",
  "1234@cloudbuild.gserviceaccount.com",
  "test-project@appspot.gserviceaccount.com",
  "someuser@example.com",
])("refuses to build as %s", async (buildIdentity) => {
  expect((await build({}, builderOf({ buildIdentity }))).at(-1)).toMatchObject({
    kind: "failed",
    failure: { reason: "permission" },
  });
  expect(startedBuilds()).toEqual([]);
});

test("after an abort, does not retry a start that returned no build", async () => {
  let starts = 0;
  const client = {
    createBuild: async () => {
      starts += 1;
      if (starts > 100) throw new Error("it never ends");
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

describe("with adverse behaviour of Cloud Build", () => {
  /** Builds in a new project, with one adverse behaviour. Returns the last event and the build in Cloud Build. */
  const buildIn = async (
    adverse: AdverseBehavior,
    more: Partial<GcpConfig>,
    files: Readonly<Record<string, string>>,
  ) => {
    const world = await openRunWorld({ engine: createFakeEngine, adverse: new Set([adverse]) });
    const deps = { clock: createLeapingClock(), ids: randomIds, logger, random: () => 0.5 };
    const source = sourceFrom(sourceOf(files));
    const request = { owner: accountOf("acme"), name: nameOf("app"), deployId: "d", source };
    const builder = createCloudBuilder({ ...config, ...more }, world.clients, deps);
    const events = await collect(builder.build(request, { signal: new AbortController().signal }));
    const [started] = world.build.builds;
    await world.close();
    return { end: events.at(-1), started };
  };

  test("fails with a message that names the region if the project may not build there", async () => {
    const { end } = await buildIn("build_regions_restricted", { buildRegion: "europe-west3" }, { "main.rb": "" });
    expect(end).toMatchObject({
      kind: "failed",
      failure: { reason: "quota_exceeded", message: expect.stringContaining("europe-west3") },
    });
  });

  test("builds in the build region, and pushes to the repository in the region of services", async () => {
    const regions = { region: "europe-west3", buildRegion: "europe-west1" };
    const { end, started } = await buildIn("build_regions_restricted", regions, { "main.rb": "" });
    expect(end).toMatchObject({ kind: "built", image: expect.stringMatching(/^europe-west3-docker\.pkg\.dev\//) });
    expect(started?.name).toContain("/locations/europe-west1/builds/");
  });

  test("a Dockerfile with RUN --mount does not fail for lack of BuildKit", async () => {
    const dockerfile = "FROM alpine\nRUN --mount=type=cache,target=/c true\n";
    const { end } = await buildIn("docker_without_buildkit", {}, { Dockerfile: dockerfile });
    expect(JSON.stringify(end)).not.toContain("requires BuildKit");
  });
});
