/** CodeBuild as the builder, against the fakes: what it asks for, how it fails, how it ends, and what it does not do twice. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createCodeBuilder } from "../../../../adapters/aws/build/builder.ts";
import { createSystemClock, randomIds } from "../../../../adapters/shared/system.ts";
import { plusMillis } from "../../../../core/domain/instant.ts";
import type { BuildEvent } from "../../../../core/ports/image-builder.ts";
import type { Source } from "../../../../core/ports/source-spool.ts";
import type { Clock } from "../../../../core/ports/system.ts";
import { collect } from "../../../contracts/support.ts";
import { openBuildWorld } from "../../../fakes/aws/build-world.ts";
import { BUILD_LOGS, type FakeCodeBuildDeps } from "../../../fakes/aws/codebuild/codebuild.ts";
import { createPretendedEngine } from "../../../fakes/engine/engine.ts";
import type { FaultKind } from "../../../fakes/faults.ts";
import { nodeSource, sourceOf } from "../../../support/archives.ts";
import { accountOf, nameOf } from "../../../support/brands.ts";
import { eventually } from "../../../support/eventually.ts";
import { createLeapingClock } from "../../../support/leaping-clock.ts";
import { keepingLogger } from "../../../support/silent-logger.ts";

let engineBuild: FakeCodeBuildDeps["build"];
let built = 0;
const openWorld = () =>
  openBuildWorld({
    engine: async (onLine) => ({
      ...(await createPretendedEngine(onLine)),
      build: (...args: Parameters<FakeCodeBuildDeps["build"]>) => {
        built += 1;
        return engineBuild(...args);
      },
    }),
  });
let world: Awaited<ReturnType<typeof openWorld>>;
let since = 0;
let node: Source;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const fakes = ["registry", "state", "builds", "logs"] as const;
const clear = () => {
  for (const fake of fakes) world[fake].faults.clear();
};

let sources = 0;
beforeEach(() => {
  engineBuild = async () => ({ image: "hello" });
  world.builds.state.outcome = undefined;
  clear();
  built = 0;
  since = world.builds.builds().length;
  node = sourceFrom(nodeSource(`source ${++sources}`));
});

/** The builds that the test has started. */
const begun = () => world.builds.builds().slice(since);

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
}

const build = async ({ source = node, owner = "acme", signal, clock = createLeapingClock() }: Options = {}) => {
  const ambient = { clock, ids: randomIds, logger, random: () => 0.5 };
  const builder = createCodeBuilder(world.config, world.clients, ambient);
  const request = { owner: accountOf(owner), name: nameOf("app"), deployId: "d", source };
  return collect(builder.build(request, signal === undefined ? {} : { signal }));
};

const linesOf = (events: readonly BuildEvent[]) =>
  events.flatMap((event) => (event.kind === "progress" ? [event.message] : []));

const commandsOf = (one: { source: { buildspec: string } } | undefined) =>
  JSON.parse(one?.source.buildspec ?? "{}").phases?.build.commands;

test("a source without a Dockerfile is built with buildpacks, in a container without the build's credentials", async () => {
  const end = (await build()).at(-1);
  const [request] = begun();
  expect(commandsOf(request)[0]).toMatch(/^docker run --rm .* build "\$IMAGE" --builder gcr\.io\/buildpacks\/builder/);
  expect(commandsOf(request)[0]).not.toMatch(/-e |--env|AWS_|--network/);
  const variables = request?.environment.environmentVariables;
  expect(variables).toContainEqual({ name: "IMAGE", value: end?.kind === "built" ? end.image : "", type: "PLAINTEXT" });
  expect(end?.kind === "built" && end.image.split(":")[1]).toMatch(/^[0-9a-f]{32}-[0-9a-f]{64}$/);
});

test.each(["Dockerfile", "./Dockerfile"])("a source with %s is built with Docker", async (path) => {
  await build({ source: sourceFrom(sourceOf({ "a/b.txt": "x", [path]: "FROM scratch\n" })) });
  expect(commandsOf(begun()[0])).toEqual(['docker build --tag "$IMAGE" /tmp/source']);
});

test("the log is said line by line while it grows, and whole", async () => {
  engineBuild = async (_archive, say) => {
    for (let line = 1; line <= 60; line++) {
      say(`line ${line} grüß`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return { image: "hello" };
  };
  const lines = linesOf(await build({ clock: createSystemClock() })).filter((line) => line.startsWith("line "));
  expect(lines).toEqual(Array.from({ length: 60 }, (_, index) => `line ${index + 1} grüß`));
});

test("the log goes to the project's own group, the only one that its role may write to", async () => {
  expect((await build()).at(-1)?.kind).toBe("built");
  expect(begun().map(({ logs }) => logs.groupName)).toEqual([BUILD_LOGS]);
});

test("what was built before is not staged and not built again", async () => {
  const first = (await build()).at(-1);
  clear();
  const again = await build();
  expect(again.at(-1)).toEqual(first);
  expect(linesOf(again)).toEqual(["This source was built before; its image is used again"]);
  expect([...world.builds.faults.log, ...world.state.faults.log]).toEqual([]);
  // Another account builds its own.
  expect((await build({ owner: "globex" })).at(-1)).not.toEqual(first);
  expect(built).toBe(2);
});

test("a source whose upload meets another one is put again, for nobody knows that it is there", async () => {
  world.state.settings.conflicts = 1;
  expect((await build()).at(-1)?.kind).toBe("built");
});

test("no account's name is in a name at Amazon", async () => {
  await build({ owner: "acme-the-account" });
  expect(JSON.stringify([begun(), [...world.state.objects.keys()]])).not.toContain("acme");
});

const failedIn = (phaseType: string, message = "") => ({
  buildStatus: "FAILED",
  phases: [
    { phaseType: "SUBMITTED", phaseStatus: "SUCCEEDED" },
    { phaseType, phaseStatus: "FAILED", contexts: [{ statusCode: "COMMAND_EXECUTION_ERROR", message }] },
    { phaseType: "COMPLETED" },
  ],
});

test.each([
  [failedIn("BUILD", "Reason: exit status 3"), { reason: "build_failed", exitCode: 3 }],
  [failedIn("BUILD"), { reason: "build_failed" }],
  [failedIn("PROVISIONING"), { reason: "provider_unavailable" }],
  [failedIn("PRE_BUILD"), { reason: "provider_unavailable" }],
  [failedIn("POST_BUILD"), { reason: "provider_unavailable" }],
  [{ buildStatus: "FAULT" }, { reason: "provider_unavailable" }],
  [{ buildStatus: "TIMED_OUT" }, { reason: "build_timeout" }],
  [{ buildStatus: "STOPPED" }, { reason: "interrupted" }],
])("a build that ended with %j", async (outcome, expected) => {
  world.builds.state.outcome = outcome;
  const end = (await build()).at(-1);
  expect(end).toMatchObject({ kind: "failed", failure: expected });
  expect(end?.kind === "failed" && end.failure.message).not.toBe("");
});

test("a source that no buildpack knows says so", async () => {
  engineBuild = async () => ({ failure: { reason: "no_builder", message: "nothing" } });
  expect((await build()).at(-1)).toMatchObject({ kind: "failed", failure: { reason: "no_builder" } });
});

test("an abort stops the build, within five seconds, and the source can be built again", async () => {
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
  expect(begun().map(({ buildStatus }) => buildStatus)).toEqual(["STOPPED"]);
  engineBuild = async () => ({ image: "hello" });
  expect((await build()).at(-1)?.kind).toBe("built");
});

test("a source whose upload is cut is closed", async () => {
  const abort = new AbortController();
  const piece = new Uint8Array(1024 * 1024);
  let [opened, closed] = [0, 0];
  const open = async function* () {
    opened += 1;
    // The first time it is looked at, the second time it is sent.
    const isSent = opened === 2;
    try {
      yield* node.open();
      for (let sent = 0; isSent && sent < 64; sent++) {
        if (sent === 8) abort.abort();
        yield piece;
      }
    } finally {
      closed += 1;
    }
  };
  const source = { ...node, bytes: node.bytes + 64 * piece.length, open };
  expect((await build({ source, signal: abort.signal })).at(-1)).toMatchObject({ failure: { reason: "interrupted" } });
  await eventually(() => expect([opened, closed]).toEqual([2, 2]));
});

const passing: readonly FaultKind[] = ["unavailable", "resource_exhausted", "reply_lost"];

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
      const before = world.builds.builds().length;
      clear();
      world[fake].faults.inject({ nth, kind });
      const end = (await build({ source })).at(-1);
      const what = `${kind} at ${fake} ${nth} (${method})`;
      clear();
      if (end?.kind !== "built") {
        expect(passing, what).not.toContain(kind);
        expect(end, what).toMatchObject({ kind: "failed", failure: { reason: "permission" } });
        // None goes on that nobody looks at.
        for (const one of world.builds.builds().slice(before)) expect(one.buildComplete, what).toBe(true);
      } else expect(world.builds.builds().length - before, `${what}: one build, not two`).toBe(1);
      expect((await build({ source })).at(-1)?.kind, `${what}, then again`).toBe("built");
    }
});

test("a refusal of the platform's own rights is in the operator's log", async () => {
  world.builds.faults.inject({ nth: 1, kind: "permission_denied" });
  await build();
  expect(said.some((line) => line.includes("refuses a call of this platform"))).toBe(true);
});
