/** CodeBuild as the builder, on the fakes: the tests for every cloud's builder, and the builds that this one starts. */
import { expect, test } from "vitest";
import { createCodeBuilder } from "../../../../../adapters/aws/deploy/build/builder.ts";
import { type BuildCloud, buildTests, sourceFrom } from "../../../../clouds/builds.ts";
import { openBuildWorld } from "../../../../fakes/aws/build-world.ts";
import { BUILD_LOGS } from "../../../../fakes/aws/codebuild/codebuild.ts";
import { sourceOf } from "../../../../support/archives/archives.ts";

const failedIn = (phaseType: string, message = "") => ({
  buildStatus: "FAILED",
  phases: [
    { phaseType: "SUBMITTED", phaseStatus: "SUCCEEDED" },
    { phaseType, phaseStatus: "FAILED", contexts: [{ statusCode: "COMMAND_EXECUTION_ERROR", message }] },
    { phaseType: "COMPLETED" },
  ],
});

type World = Awaited<ReturnType<typeof openBuildWorld>>;
type Build = ReturnType<World["builds"]["builds"]>[number];

const commandsOf = (one: { source: { buildspec: string } } | undefined) =>
  JSON.parse(one?.source.buildspec ?? "{}").phases?.build.commands;

const codeBuild: BuildCloud<World, Build> = {
  open: (engine) => openBuildWorld({ engine }),
  builder: (world, deps) => createCodeBuilder(world.config, world.clients, deps),
  faultsOf: ({ registry, state, builds, logs }) => ({
    registry: registry.faults,
    sources: state.faults,
    builds: builds.faults,
    logs: logs.faults,
  }),
  builds: ({ builds }) => builds.builds(),
  buildpacksGet: (build) => {
    const given = new Map<string, string>(
      build.environment.environmentVariables.map(({ name, value }: { name: string; value: string }) => [name, value]),
    );
    // "The combined size of all environment variables": codebuild/latest/userguide/limits.
    expect([...given].join().length).toBeLessThan(5500);
    const command: string = commandsOf(build)[0];
    const passed = [...command.matchAll(/ --env "(\w+)=\$(\w+)"/g)];
    return Object.fromEntries(passed.map(([, name, variable]) => [name, given.get(variable as string)]));
  },
  endOf: ({ buildComplete, buildStatus }) => (buildComplete === true ? buildStatus : undefined),
  stopped: "STOPPED",
  setOutcome: ({ builds }, outcome) => {
    builds.state.outcome = outcome as typeof builds.state.outcome;
  },
  outcomes: [
    [failedIn("BUILD", "Reason: exit status 3"), { reason: "build_failed", exitCode: 3 }],
    [failedIn("BUILD"), { reason: "build_failed" }],
    [failedIn("PROVISIONING"), { reason: "provider_unavailable" }],
    [failedIn("INSTALL"), { reason: "provider_unavailable" }],
    [failedIn("PRE_BUILD"), { reason: "provider_unavailable" }],
    [failedIn("POST_BUILD"), { reason: "provider_unavailable" }],
    [{ buildStatus: "FAULT" }, { reason: "provider_unavailable" }],
    [{ buildStatus: "TIMED_OUT" }, { reason: "build_timeout" }],
    [{ buildStatus: "STOPPED" }, { reason: "interrupted" }],
  ],
  names: ({ state }) => [...state.objects.keys()],
  close: (world) => world.close(),
};

const { build, startedBuilds, world } = buildTests(codeBuild);

test("builds a source without a Dockerfile with buildpacks", async () => {
  const end = (await build()).at(-1);
  const [request] = startedBuilds();
  expect(commandsOf(request)[0]).toContain(' pack build "$IMAGE" ');
  const variables = request?.environment.environmentVariables;
  expect(variables).toContainEqual({ name: "IMAGE", value: end?.kind === "built" ? end.image : "", type: "PLAINTEXT" });
  expect(end?.kind === "built" && end.image.split(":")[1]).toMatch(/^[0-9a-f]{32}-[0-9a-f]{64}$/);
});

test.each(["Dockerfile", "./Dockerfile"])("builds a source with %s with Docker", async (path) => {
  await build({ source: sourceFrom(sourceOf({ "a/b.txt": "x", [path]: "FROM scratch\n" })) });
  expect(commandsOf(startedBuilds()[0])).toEqual(['docker build --tag "$IMAGE" "$SOURCE_FOLDER"']);
});

test("logs to the project's own group, the only one that its role may write to", async () => {
  expect((await build()).at(-1)?.kind).toBe("built");
  expect(startedBuilds().map(({ logs }) => logs.groupName)).toEqual([BUILD_LOGS]);
});

test("retries an upload that conflicts with a concurrent one", async () => {
  world().state.settings.conflicts = 1;
  expect((await build()).at(-1)?.kind).toBe("built");
});
