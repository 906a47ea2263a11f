/** The promises of `SourceSpool`. */
import { expect } from "vitest";
import type { ContractCase, ProviderSubject } from "./harness.ts";
import { chunked, collect, expectError, expectOk, receive } from "./support.ts";

type Case = ContractCase<ProviderSubject>;

async function* breaking(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes.subarray(0, bytes.length / 2);
  throw new Error("the client went away");
}

export const sourceSpoolCases: readonly Case[] = [
  {
    group: "keep",
    name: "a good archive is kept byte for byte, and can be read again",
    run: async (subject) => {
      const bytes = subject.sources.hello("spooled");
      const source = await receive(subject, bytes);
      expect(source.bytes).toBe(bytes.length);
      expect(source.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
      for (let times = 0; times < 2; times++)
        expect(Buffer.concat(await collect(source.open())).equals(bytes)).toBe(true);
      await source.discard();
      await source.discard();
    },
  },
  {
    group: "keep",
    name: "the digest is of the bytes alone",
    run: async (subject) => {
      const bytes = subject.sources.hello("digest");
      const [one, two] = [await receive(subject, bytes), await receive(subject, bytes)];
      const other = await receive(subject, subject.sources.hello("another"));
      expect(one.digest).toBe(two.digest);
      expect(other.digest).not.toBe(one.digest);
      for (const source of [one, two, other]) await source.discard();
    },
  },
  {
    group: "refuse",
    name: "what is no archive, and what is cut off, is refused as archive_invalid on source_archive",
    run: async ({ provider, sources }) => {
      const whole = sources.hello("cut");
      for (const bytes of [Buffer.from("not an archive"), Buffer.alloc(0), whole.subarray(0, whole.length - 20)]) {
        const received = await expectOk(provider.spool.receive(chunked(bytes)));
        expect(received).toMatchObject({
          kind: "refused",
          issues: [{ path: ["source_archive"], type: "archive_invalid" }],
        });
      }
    },
  },
  {
    group: "refuse",
    name: "reads no further than it needs to",
    run: async ({ provider }) => {
      let given = 0;
      async function* endless() {
        for (;;) {
          given++;
          yield Buffer.alloc(1024, 7);
        }
      }
      const received = await expectOk(provider.spool.receive(endless()));
      expect(received.kind).toBe("refused");
      expect(given).toBeLessThan(100);
    },
  },
  {
    group: "break",
    name: "bytes that break off are unavailable",
    run: async ({ provider, sources }) =>
      expect((await expectError(provider.spool.receive(breaking(sources.hello("broken"))))).kind).toBe("unavailable"),
  },
];
