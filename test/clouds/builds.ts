/** A cloud's builder on its fakes: its output, failures and results, and that it builds nothing twice. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { STATIC_COMMAND } from "../../adapters/shared/deploy/static-site.ts";
import { createSystemClock, randomIds } from "../../adapters/shared/runtime/system.ts";
import { plusMillis } from "../../core/domain/wire/instant.ts";
import type { BuildEvent, ImageBuilder } from "../../core/ports/image-builder.ts";
import type { Source } from "../../core/ports/source-spool.ts";
import type { Clock, Ids, Logger } from "../../core/ports/system.ts";
import { collect } from "../contracts/support.ts";
import type { EngineBuild } from "../fakes/engine/builds.ts";
import { createFakeEngine } from "../fakes/engine/engine.ts";
import type { FaultKind, Faults } from "../fakes/faults.ts";
import { nodeSource, sourceOf } from "../support/archives/archives.ts";
import { createLeapingClock } from "../support/clocks/leaping-clock.ts";
import { accountOf, nameOf } from "../support/http/brands.ts";
import { recordingLogger } from "../support/logs/silent-logger.ts";
import { eventually } from "../support/vitest/eventually.ts";

interface BuildDeps {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  readonly random: () => number;
}

type BuildingEngine = Awaited<ReturnType<typeof createFakeEngine>> & { readonly build: EngineBuild };

export interface BuildCloud<W, B> {
  open(engine: (...args: Parameters<typeof createFakeEngine>) => Promise<BuildingEngine>): Promise<W>;
  builder(world: W, deps: BuildDeps): ImageBuilder;
  /** The faults of each fake. The fake of builds must be `builds`, and the fake of sources `sources`. */
  faultsOf(world: W): Readonly<Record<string, Faults>> & { readonly builds: Faults; readonly sources: Faults };
  /** Every build ever started, oldest first. */
  builds(world: W): readonly B[];
  /** The variables that buildpacks get in a build; empty for a build with Docker. */
  buildpacksGet(build: B): Readonly<Record<string, string>>;
  /** How a build ended; undefined while it runs. */
  endOf(build: B): string | undefined;
  /** The value of `endOf` for a stopped build. */
  readonly stopped: string;
  /** Makes builds end like this without building; undefined restores real builds. */
  setOutcome(world: W, outcome: object | undefined): void;
  /** Outcomes of builds, and the failure that the builder reports for each. */
  readonly outcomes: readonly (readonly [outcome: object, failure: object])[];
  /** Names that the builder gives to resources other than builds. */
  names(world: W): readonly string[];
  close(world: W): Promise<void>;
}

export const sourceFrom = (bytes: Uint8Array): Source => ({
  digest: `sha256:${createHash("sha256").update(bytes).digest("hex")}`,
  bytes: bytes.length,
  open: async function* () {
    for (let at = 0; at < bytes.length; at += 100) yield bytes.subarray(at, at + 100);
  },
  discard: async () => undefined,
});

const linesOf = (events: readonly BuildEvent[]) =>
  events.flatMap((event) => (event.kind === "progress" ? [event.message] : []));

const passing: readonly FaultKind[] = ["unavailable", "resource_exhausted", "reply_lost"];

interface Options {
  readonly source?: Source;
  readonly owner?: string;
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
}

/** Runs the suite; returns helpers for a cloud's own builder tests. */
export const buildTests = <W, B>(cloud: BuildCloud<W, B>) => {
  let world: W;
  let engineBuild: EngineBuild;
  let built = 0;
  let since = 0;
  let node: Source;
  beforeAll(async () => {
    world = await cloud.open(async (onLine) => ({
      ...(await createFakeEngine(onLine)),
      build: (...args) => {
        built += 1;
        return engineBuild(...args);
      },
    }));
  });
  afterAll(() => cloud.close(world));

  const clear = () => {
    for (const faults of Object.values(cloud.faultsOf(world))) faults.clear();
  };

  let sources = 0;
  beforeEach(() => {
    engineBuild = async () => ({ image: "hello" });
    cloud.setOutcome(world, undefined);
    clear();
    built = 0;
    since = cloud.builds(world).length;
    node = sourceFrom(nodeSource(`source ${++sources}`));
  });

  /** Builds that the current test has started. */
  const startedBuilds = () => cloud.builds(world).slice(since);

  const { logger, logged } = recordingLogger();

  const build = async (
    { source = node, owner = "acme", signal, clock = createLeapingClock() }: Options = {},
    builder: BuildCloud<W, B>["builder"] = cloud.builder,
  ) => {
    const deps = { clock, ids: randomIds, logger, random: () => 0.5 };
    const request = { owner: accountOf(owner), name: nameOf("app"), deployId: "d", source };
    return collect(builder(world, deps).build(request, signal === undefined ? {} : { signal }));
  };

  test("shows the complete log line by line while it grows", async () => {
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

  const flask = { "app.py": "app = Flask(__name__)\n", "requirements.txt": "flask\n" };

  test("buildpacks get Portside's start command, unless they find one themselves", async () => {
    const of = async (texts: Readonly<Record<string, string>>) => {
      const before = cloud.builds(world).length;
      await build({ source: sourceFrom(sourceOf(texts)) });
      return cloud.builds(world).slice(before).map(cloud.buildpacksGet);
    };
    expect(await of(flask)).toEqual([
      { GOOGLE_ENTRYPOINT: "exec flask --app app:app run --host 0.0.0.0 --port $PORT" },
    ]);
    expect(await of({ "index.html": "x" })).toEqual([{ GOOGLE_ENTRYPOINT: STATIC_COMMAND, GOOGLE_RUNTIME: "nodejs" }]);
    expect(await of({ "package.json": '{"main": "it\'s.js"}' })).toEqual([
      { GOOGLE_ENTRYPOINT: "exec node 'it'\\''s.js'" },
    ]);
    for (const theirs of [
      { "package.json": '{"scripts": {"start": "node ."}}' },
      { ...flask, Procfile: "web: ./x" },
      { "go.mod": "module x", "package.json": "{}" },
      { "main.rb": "" },
      { ...flask, Dockerfile: "FROM scratch" },
    ])
      expect(await of(theirs), JSON.stringify(theirs)).toEqual([{}]);
  });

  test("does not send a source without a start command, and shows warnings", async () => {
    const words = { kind: "failed", failure: { reason: "no_builder", message: expect.stringContaining("'gunicorn'") } };
    expect((await build({ source: sourceFrom(sourceOf({ "app.py": flask["app.py"] })) })).at(-1)).toMatchObject(words);
    expect(startedBuilds()).toEqual([]);
    expect(linesOf(await build({ source: sourceFrom(sourceOf({ ...flask, a: "1" })) })).join("\n")).toContain(
      "warning: the requirements include no production server",
    );
  });

  test("does not stage or build the same source twice", async () => {
    const first = (await build()).at(-1);
    clear();
    const again = await build();
    expect(again.at(-1)).toEqual(first);
    expect(linesOf(again)).toEqual(["This source was built before; reusing its image"]);
    const faults = cloud.faultsOf(world);
    expect([...faults.builds.log, ...faults.sources.log]).toEqual([]);
    // Accounts do not share builds.
    expect((await build({ owner: "globex" })).at(-1)).not.toEqual(first);
    expect(built).toBe(2);
  });

  test("resources of the cloud do not contain account names", async () => {
    await build({ owner: "acme-the-account" });
    expect(startedBuilds()).toHaveLength(1);
    expect(JSON.stringify([startedBuilds(), cloud.names(world)])).not.toContain("acme");
  });

  test.each(cloud.outcomes)("reports the reason of a build that ended with %j", async (outcome, expected) => {
    cloud.setOutcome(world, outcome);
    const end = (await build()).at(-1);
    expect(end).toMatchObject({ kind: "failed", failure: expected });
    expect(end?.kind === "failed" && end.failure.message).not.toBe("");
  });

  test("reports a source that no buildpack recognizes", async () => {
    engineBuild = async () => ({ failure: { reason: "no_builder", message: "nothing" } });
    expect((await build()).at(-1)).toMatchObject({ kind: "failed", failure: { reason: "no_builder" } });
  });

  test("an abort stops the build within five seconds, and the source can be built again", async () => {
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
    expect(startedBuilds().map(cloud.endOf)).toEqual([cloud.stopped]);
    engineBuild = async () => ({ image: "hello" });
    expect((await build()).at(-1)?.kind).toBe("built");
  });

  test("a fault at any call: transient faults are retried, others end with a cause; a repeat completes the build", async () => {
    await build({ source: sourceFrom(nodeSource("counted")) });
    const calls = Object.values(cloud.faultsOf(world)).flatMap((faults) =>
      faults.log.map((method, index) => ({ faults, nth: index + 1, method })),
    );
    expect(calls.length).toBeGreaterThan(5);
    let round = 0;
    for (const { faults, nth, method } of calls)
      for (const kind of [...passing, "permission_denied"] as const) {
        const source = sourceFrom(nodeSource(`round ${++round}`));
        const before = cloud.builds(world).length;
        clear();
        faults.inject({ nth, kind });
        const end = (await build({ source })).at(-1);
        const what = `${kind} at call ${nth} of its fake (${method})`;
        clear();
        const started = cloud.builds(world).slice(before);
        if (end?.kind !== "built") {
          expect(passing, what).not.toContain(kind);
          expect(end, what).toMatchObject({ kind: "failed", failure: { reason: "permission" } });
          // No build may keep running unattended.
          for (const one of started) expect(cloud.endOf(one), what).toBeDefined();
        } else expect(started.length, `${what}: one build, not two`).toBe(1);
        expect((await build({ source })).at(-1)?.kind, `${what}, then again`).toBe("built");
      }
  });

  test("a permission error of the platform's own account is in the operator's log", async () => {
    cloud.faultsOf(world).builds.inject({ nth: 1, kind: "permission_denied" });
    await build();
    expect(logged.some((line) => line.includes("rejected a call; check the platform"))).toBe(true);
  });

  test("closes a source if its upload is aborted", async () => {
    const abort = new AbortController();
    const piece = new Uint8Array(1024 * 1024);
    let [opened, closed] = [0, 0];
    const open = async function* () {
      opened += 1;
      // The first pass inspects the source; the second sends it.
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
    const end = (await build({ source, signal: abort.signal })).at(-1);
    expect(end).toMatchObject({ failure: { reason: "interrupted" } });
    await eventually(() => expect([opened, closed]).toEqual([2, 2]));
  });

  return { build, startedBuilds, logger, world: () => world };
};
