/** Deploys with an object of a volume as the source: errors before the stream, errors in it, and clean-up. */

import { afterEach, describe, expect, test } from "vitest";
import { faulty, type ManualClock } from "../../../../adapters/memory/index.ts";
import { unavailable } from "../../../../core/errors.ts";
import type { Provider } from "../../../../core/ports/provider.ts";
import type { Source } from "../../../../core/ports/source-spool.ts";
import { errAsync } from "../../../../core/result.ts";
import { inOnePiece } from "../../../models/upload-url.ts";
import { whileTicking } from "../../../simulation/ticking.ts";
import { sourceOf } from "../../../support/archives/archives.ts";
import { type MemoryPlatform, recordTexts, startMemory } from "../../../support/providers/memory-platform.ts";
import { eventually } from "../../../support/vitest/eventually.ts";

const good = sourceOf({ "index.js": "run()" });
const opened: MemoryPlatform[] = [];
afterEach(() => Promise.all(opened.splice(0).map(({ memory }) => memory.close())));

interface Sources extends MemoryPlatform {
  /** Sources that were fetched and not discarded. */
  readonly fetched: ReadonlySet<Source>;
  /** The digests of the discarded ones. */
  readonly discarded: readonly string[];
}

const start = (around: (provider: Provider, clock: ManualClock) => Partial<Provider> = () => ({})): Sources => {
  const fetched = new Set<Source>();
  const discarded: string[] = [];
  const platform = startMemory({
    around: (provider, clock) => {
      const changed = { ...provider, ...around(provider, clock) };
      const receive: Provider["spool"]["receive"] = (...args) =>
        changed.spool.receive(...args).map((received) => {
          if (received.kind === "rejected") return received;
          const { source } = received;
          const discard = async () => {
            fetched.delete(watched);
            discarded.push(source.digest);
            await source.discard();
          };
          const watched = { ...source, discard };
          fetched.add(watched);
          return { kind: "accepted", source: watched };
        });
      return { ...changed, spool: { receive } };
    },
  });
  opened.push(platform);
  return { ...platform, fetched, discarded };
};

const put = async ({ controlPlane, principal }: MemoryPlatform, body: Uint8Array<ArrayBuffer>, account?: string) => {
  const caller = principal(account);
  (await controlPlane.createVolume(caller, { name: "src" }))._unsafeUnwrap();
  const granted = await controlPlane.grantUpload(caller, { volume: "src", object: "app.tgz" });
  const { url } = inOnePiece(granted._unsafeUnwrap());
  expect((await fetch(url, { method: "PUT", body })).ok).toBe(true);
};

const submit = ({ controlPlane, principal }: MemoryPlatform, fields: Record<string, unknown> = {}, account?: string) =>
  controlPlane.deploy(principal(account), {
    fields: { function_name: "app", volumes: {}, source_object: "src/app.tgz", ...fields },
  });

/** Unpacking takes real time, so the fake clock must not advance while nothing waits for it. */
const recordsOf = async (platform: MemoryPlatform) => {
  const run = (await submit(platform))._unsafeUnwrap();
  return Array.fromAsync(run.follow());
};

const bytes = (buffer: Buffer): Uint8Array<ArrayBuffer> => Uint8Array.from(buffer);

describe("before the stream", () => {
  test("404 for a missing volume or object, 403 for another account's, and starts no deploy", async () => {
    const platform = start();
    expect((await submit(platform))._unsafeUnwrapErr()).toMatchObject({
      kind: "not_found",
      message: "Your account has no volume 'src'.",
    });
    await put(platform, bytes(good));
    expect((await submit(platform, { source_object: "src/none.tgz" }))._unsafeUnwrapErr()).toMatchObject({
      kind: "not_found",
      message: "The volume 'src' has no object 'none.tgz'.",
    });
    expect((await submit(platform, {}, "other"))._unsafeUnwrapErr()).toMatchObject({ kind: "forbidden" });
    expect(platform.memory.snapshot().services.size).toBe(0);
    expect(platform.memory.snapshot().outcomes.size).toBe(0);
  });

  test.each(["src", "/app.tgz", "src/", "src/../app.tgz", "src//a", "src/a\\b"])("422 for '%s'", async (source) => {
    expect((await submit(start(), { source_object: source }))._unsafeUnwrapErr()).toMatchObject({
      kind: "invalid_input",
      issues: [{ path: ["source_object"], type: "value_error" }],
    });
  });

  test("422 for both sources, and for neither", async () => {
    const platform = start();
    expect((await platform.submit({ source_object: "src/app.tgz" }))._unsafeUnwrapErr()).toMatchObject({
      issues: [{ path: ["source_archive"], type: "value_error" }],
    });
    expect(platform.kept.size).toBe(0);
    expect((await submit(platform, { source_object: "" }))._unsafeUnwrapErr()).toMatchObject({
      issues: [{ path: ["source_archive"], type: "missing" }],
    });
  });
});

describe("the stream", () => {
  test("names the object that it fetches, and discards the fetched source", async () => {
    const platform = start();
    await put(platform, bytes(good));
    const records = await recordsOf(platform);
    expect(recordTexts(records).slice(0, 3)).toEqual([
      "BUILDING Deploying as 'app'",
      "BUILDING Fetching the source 'src/app.tgz'",
      "BUILDING Reading the source",
    ]);
    expect(records.at(-1)?.status).toBe("DONE");
    expect(platform.fetched.size).toBe(0);
  });

  test("builds the content that the object has at the time of each deploy", async () => {
    const images: string[] = [];
    const platform = start(({ services }) => ({
      services: {
        ...services,
        rollout: (request, options) => {
          images.push(request.template.image);
          return services.rollout(request, options);
        },
      },
    }));
    await put(platform, bytes(good));
    await recordsOf(platform);
    await put(platform, bytes(sourceOf({ "index.js": "other()" })));
    await recordsOf(platform);
    expect(new Set(images).size).toBe(2);
  });

  test.each([
    ["no gzip", Buffer.from("no archive"), "archive_invalid"],
    ["cut off", good.subarray(0, -20), "archive_invalid"],
    ["with a parent path", sourceOf({ "../evil": "x" }), "archive_invalid"],
  ])("ends if the object is %s, naming it", async (_what, body, reason) => {
    const platform = start();
    await put(platform, bytes(body));
    const last = (await recordsOf(platform)).at(-1);
    expect(last).toMatchObject({ status: "ERROR", reason });
    expect(last?.message).toMatch(/^src\/app\.tgz: the archive /);
    expect(platform.fetched.size).toBe(0);
  });

  test("ends if the object exceeds the limit of objects, which differs from the limit of uploads", async () => {
    let limit: number | undefined;
    const platform = start(({ spool }) => ({
      spool: {
        receive: (source, options) => {
          limit = options?.fileBytes;
          return spool.receive(source, { ...options, fileBytes: 10 });
        },
      },
    }));
    await put(platform, bytes(good));
    expect((await recordsOf(platform)).at(-1)).toMatchObject({ status: "ERROR", reason: "archive_too_large" });
    expect(limit).toBe(2 * 1024 ** 3);
  });

  test("ends if the object was deleted meanwhile or cannot be read", async () => {
    const platform = start(({ volumes }) => ({
      volumes: faulty(volumes, ({ method, count }) =>
        method === "read" && count === 1 ? { error: unavailable("The storage is down.") } : undefined,
      ),
    }));
    await put(platform, bytes(good));
    expect((await recordsOf(platform)).at(-1)).toMatchObject({
      reason: "provider_unavailable",
      message: "src/app.tgz: The storage is down. Deploy again.",
    });
    const run = (await submit(platform))._unsafeUnwrap();
    (
      await platform.controlPlane.deleteObject(platform.principal(), { volume: "src", path: "app.tgz" })
    )._unsafeUnwrap();
    const last = (await Array.fromAsync(run.follow())).at(-1);
    expect(last?.reason ?? last?.status).toMatch(/^(volume_unavailable|DONE)$/);
  });
});

describe("a storage that does not respond", () => {
  /** Reads nothing until the test releases it, then everything, even after an abort. */
  const stuck = () => {
    const gate = Promise.withResolvers<void>();
    const received = Promise.withResolvers<unknown>();
    const platform = start(({ volumes, spool }) => ({
      spool: {
        receive: (source, options) => {
          const receiving = spool.receive(source, { fileBytes: options?.fileBytes ?? 0 });
          received.resolve(receiving);
          return receiving;
        },
      },
      volumes: {
        ...volumes,
        read: (...args) =>
          volumes.read(...args).map(async function* slow(source) {
            await gate.promise;
            yield* source;
          }),
      },
    }));
    return { platform, letGo: gate.resolve, received: received.promise };
  };

  test("ends the deploy with build_timeout, and a late source is discarded", async () => {
    const { platform, letGo } = stuck();
    await put(platform, bytes(good));
    const run = (await submit(platform))._unsafeUnwrap();
    const last = (await whileTicking(platform.clock, Array.fromAsync(run.follow()))).at(-1);
    expect(last).toMatchObject({ reason: "build_timeout", time: "2026-01-01T00:15:00+00:00" });
    expect(last?.message).toBe(
      "Fetching the source 'src/app.tgz' took longer than 15 min and was stopped. Deploy again.",
    );
    letGo();
    await eventually(() => expect(platform.discarded).toHaveLength(1));
    expect(platform.fetched.size).toBe(0);
  });

  test("a late response without a source needs no clean-up", async () => {
    const { platform, letGo, received } = stuck();
    await put(platform, bytes(Buffer.from("no archive")));
    const run = (await submit(platform))._unsafeUnwrap();
    const last = (await whileTicking(platform.clock, Array.fromAsync(run.follow()))).at(-1);
    expect(last?.reason).toBe("build_timeout");
    letGo();
    expect(await received).toMatchObject({ value: { kind: "rejected" } });
    await platform.controlPlane.close();
    expect(platform.discarded).toEqual([]);
  });

  test("an error after the deploy was cancelled is not reported as a storage error", async () => {
    const platform: Sources = start(({ volumes }) => ({
      volumes: {
        ...volumes,
        read: () => {
          const { deployId } = run;
          void platform.controlPlane.cancelDeploy(platform.principal(), { deploy_id: deployId });
          return errAsync(unavailable("The storage is down."));
        },
      },
    }));
    await put(platform, bytes(good));
    const run = (await submit(platform))._unsafeUnwrap();
    expect((await Array.fromAsync(run.follow())).at(-1)).toMatchObject({ status: "ERROR", reason: "interrupted" });
  });

  test("does not delay the end of a cancelled deploy", async () => {
    const { platform, letGo } = stuck();
    await put(platform, bytes(good));
    const run = (await submit(platform))._unsafeUnwrap();
    await platform.clock.advance(1000);
    const { controlPlane, principal, clock } = platform;
    (await whileTicking(clock, controlPlane.cancelDeploy(principal(), { deploy_id: run.deployId })))._unsafeUnwrap();
    expect((await Array.fromAsync(run.follow())).at(-1)?.reason).toBe("interrupted");
    letGo();
    await eventually(() => expect(platform.discarded).toHaveLength(1));
  });
});

test.each(["build", "rollout"] as const)("discards the fetched source if the %s fails", async (method) => {
  const failure = { reason: "crashed", message: "It failed." } as const;
  const platform = start(({ builder, services }) => ({
    builder: faulty(builder, () => (method === "build" ? { failure } : undefined)),
    services: faulty(services, (call) => (call.method === method ? { failure } : undefined)),
  }));
  await put(platform, bytes(good));
  expect((await recordsOf(platform)).at(-1)?.reason).toBe("crashed");
  expect(platform.fetched.size).toBe(0);
});

test("a source that cannot be discarded is not the client's error", async () => {
  const platform = start(({ spool }) => ({
    spool: {
      receive: (...args) =>
        spool.receive(...args).map((received) => {
          if (received.kind === "rejected") return received;
          return { kind: "accepted", source: { ...received.source, discard: () => Promise.reject(new Error("disk")) } };
        }),
    },
  }));
  await put(platform, bytes(good));
  expect((await recordsOf(platform)).at(-1)?.status).toBe("DONE");
});
