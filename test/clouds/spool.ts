/** Sources in a cloud's bucket, on its fakes: the port's contract, failing pieces, and clean-up. */
import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { PIECE_BYTES, SPOOL_PREFIX } from "../../adapters/cloud/deploy/build/bucket-spool.ts";
import { KiB } from "../../core/domain/accounts/limits.ts";
import type { Provider } from "../../core/ports/provider.ts";
import type { Source, SourceSpool } from "../../core/ports/source-spool.ts";
import { contractTests, freshNames, sourceSpoolCases } from "../contracts/index.ts";
import { collect } from "../contracts/support.ts";
import type { FaultKind, Faults } from "../fakes/faults.ts";
import { bytesOf, type Entry, tarOf } from "../support/archives/archives.ts";
import { folderWith } from "../support/archives/folders.ts";
import { accountOf, nameOf } from "../support/http/brands.ts";
import { nodeContractSources } from "../support/providers/contract-sources.ts";
import { type Cloud, clearFaults, type Fakes } from "./cloud.ts";
import { type RuntimeDeps, runtimeDeps } from "./subject.ts";

export interface SpoolCloud<F extends Fakes> extends Pick<Cloud<F>, "name" | "start" | "provide"> {
  /** The provider's spool, with a different piece size. */
  spool(fakes: F, deps: RuntimeDeps, pieceBytes: number): SourceSpool;
  /** Calls to the bucket. */
  bucketOf(fakes: F): Faults;
  objectsOf(fakes: F): readonly string[];
  /** Uploads that hold bytes and are neither completed nor aborted. If an upload's id was lost, it holds no bytes. */
  unfinished(fakes: F): number;
  /** The call that copies an object. */
  readonly copies: string;
  /** The calls that upload bytes. */
  readonly uploads: readonly string[];
  /** The calls of `uploads` that a build also makes without a source, to record that its image is in use. */
  readonly records?: readonly string[];
}

/** Cloud Storage's minimum size of a piece, except the last. */
const PIECE = 256 * KiB;

/** A start command: a provider rejects a source without one before it copies anything. */
const STARTS = '{"scripts":{"start":"node ."}}';

/** Three pieces, the last one short; not compressed. */
const large = (more: readonly Entry[] = []): Buffer =>
  gzipSync(
    tarOf([{ path: "package.json", content: STARTS }, { path: "b", content: randomBytes(PIECE * 2) }, ...more]),
    {
      level: 0,
    },
  );

const passing: readonly FaultKind[] = ["unavailable", "resource_exhausted", "reply_lost"];

export const spoolTests = async <F extends Fakes>(cloud: SpoolCloud<F>): Promise<void> => {
  const open = async () => {
    const folder = folderWith();
    const fakes = await cloud.start("simulated");
    const { provider, close } = await cloud.provide(fakes, folder.path, runtimeDeps());
    return {
      fakes,
      provider,
      close: async () => {
        await close();
        await fakes.close();
        folder[Symbol.dispose]();
      },
    };
  };

  const probe = await open();
  await probe.close();
  const start = async () => {
    const { provider, close } = await open();
    return { subject: { provider, sources: nodeContractSources, ...freshNames(cloud.name) }, close };
  };
  contractTests(`${cloud.name}: sources in a bucket`, sourceSpoolCases, start, probe.provider.capabilities);

  describe(`${cloud.name}: sources in a bucket, in pieces`, () => {
    let world: Awaited<ReturnType<typeof open>>;
    beforeAll(async () => {
      world = await open();
    });
    afterAll(() => world.close());
    beforeEach(() => clearFaults(world.fakes));

    const waiting = () => cloud.objectsOf(world.fakes).filter((name) => name.startsWith(SPOOL_PREFIX));
    const expectNothing = (what: string) =>
      expect([...waiting(), cloud.unfinished(world.fakes)], `${what}: nothing is left`).toEqual([0]);
    const receive = (bytes: AsyncIterable<Uint8Array>, signal?: AbortSignal) =>
      cloud.spool(world.fakes, runtimeDeps(), PIECE).receive(bytes, signal === undefined ? {} : { signal });
    const kept = async (bytes: Uint8Array): Promise<Source> => {
      const received = (await receive(bytesOf(bytes)))._unsafeUnwrap();
      if (received.kind !== "accepted") throw new Error(JSON.stringify(received.issues));
      return received.source;
    };
    const build = async ({ builder }: Provider, source: Source) =>
      (await collect(builder.build({ owner: accountOf("acme"), name: nameOf("app"), deployId: "d", source }, {}))).at(
        -1,
      );

    test("joins several pieces to one object, byte for byte, which stays until it is discarded", async () => {
      const archive = large();
      const source = await kept(archive);
      expect(waiting()).toHaveLength(1);
      for (let times = 0; times < 2; times++)
        expect(Buffer.concat(await collect(source.open())).equals(archive)).toBe(true);
      await source.discard();
      await source.discard();
      expectNothing("discarded");
    });

    test("a source is invisible until it is fully validated; a late rejection leaves nothing", async () => {
      const bad = large([{ path: "../out", content: "x" }]);
      let seen: readonly string[] = ["not validated"];
      async function* watched() {
        yield* bytesOf(bad.subarray(0, -2060));
        seen = waiting();
        yield bad.subarray(-2060);
      }
      expect((await receive(watched()))._unsafeUnwrap()).toMatchObject({ kind: "rejected" });
      expect(seen).toEqual([]);
      expectNothing("refused");
    });

    test("an interrupted or aborted upload leaves nothing", async () => {
      const archive = large();
      async function* broken() {
        yield* bytesOf(archive.subarray(0, PIECE + 1000));
        throw new Error("the client left");
      }
      expect((await receive(broken()))._unsafeUnwrapErr()).toMatchObject({ kind: "unavailable" });
      expectNothing("broken off");
      const abort = new AbortController();
      async function* given() {
        yield* bytesOf(archive.subarray(0, PIECE + 1000));
        abort.abort();
        yield* bytesOf(archive.subarray(PIECE + 1000));
      }
      expect((await receive(given(), abort.signal)).isErr()).toBe(true);
      expectNothing("given up");
    });

    test("the provider's piece size suits both clouds", async () => {
      const archive = gzipSync(tarOf([{ path: "b", content: randomBytes(PIECE_BYTES + 1000) }]), { level: 0 });
      const received = (await world.provider.spool.receive(bytesOf(archive)))._unsafeUnwrap();
      expect(received).toMatchObject({ kind: "accepted", source: { bytes: archive.length } });
      if (received.kind === "accepted") await received.source.discard();
      expectNothing("discarded");
    });

    test("a fault at any call: transient faults are retried, others leave nothing", async () => {
      const archive = large();
      const bucket = cloud.bucketOf(world.fakes);
      const whole = async () => {
        const source = await kept(archive);
        expect(Buffer.concat(await collect(source.open())).equals(archive)).toBe(true);
        return source;
      };
      await (await whole()).discard();
      const calls = [...bucket.log];
      expect(calls.length).toBeGreaterThan(5);
      for (const [index, method] of calls.entries())
        for (const kind of passing) {
          bucket.clear();
          bucket.inject({ nth: index + 1, kind });
          const source = await whole();
          await source.discard();
          expectNothing(`${kind} at ${method}`);
        }
      for (const method of new Set(calls.filter((one) => cloud.uploads.includes(one)))) {
        bucket.clear();
        bucket.inject({ nth: 1, method, kind: "permission_denied" });
        expect((await receive(bytesOf(archive)))._unsafeUnwrapErr()).toMatchObject({ kind: "unavailable" });
        expectNothing(`refused at ${method}`);
      }
    });

    test("a builder copies a source within the cloud, and does not upload it again", async () => {
      const source = await kept(large());
      clearFaults(world.fakes);
      expect(await build(world.provider, source)).toMatchObject({ kind: "built" });
      const { log } = cloud.bucketOf(world.fakes);
      expect(log.filter((one) => one === cloud.copies)).toHaveLength(1);
      expect(log.filter((one) => cloud.uploads.includes(one))).toEqual(cloud.records ?? []);
      await source.discard();
    });

    test("a source that is missing at its build is reported, and is not a bug", async () => {
      const source = await kept(large());
      await source.discard();
      expect(await build(world.provider, source)).toMatchObject({
        kind: "failed",
        failure: { reason: "provider_unavailable" },
      });
    });
  });
};
