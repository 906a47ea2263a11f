/** The promises of `SourceSpool`. */
import { expect } from "vitest";
import { archiveLimits } from "../../core/domain/limits.ts";
import { archiveOf } from "./archives.ts";
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
  ...(
    [
      ["a path that leads out of the source", { path: "../evil.js", content: "x" }],
      ["an absolute path", { path: "/etc/cron.d/evil", content: "x" }],
      ["a symbolic link", { path: "secret", type: "2", link: "/etc/passwd" }],
      ["a hard link", { path: "twin", type: "1", link: "package.json" }],
      ["a device", { path: "disk", type: "3" }],
      [
        "an entry that claims more than one may have",
        { path: "huge", size: archiveLimits.entryBytes + 1 },
        "too_large",
      ],
    ] as const
  ).map(
    ([what, entry]): Case => ({
      group: "refuse",
      name: `${what} is archive_invalid, and the entry named`,
      run: async ({ provider }) => {
        const bytes = archiveOf({ path: "package.json", content: "{}" }, entry);
        const received = await expectOk(provider.spool.receive(chunked(bytes)));
        const named = {
          path: ["source_archive"],
          type: "archive_invalid",
          message: expect.stringContaining(entry.path),
        };
        expect(received).toMatchObject({ kind: "refused", issues: [named] });
      },
    }),
  ),
  {
    group: "refuse",
    name: "more entries than an archive may have are refused",
    run: async ({ provider }) => {
      const many = Array.from({ length: archiveLimits.entries + 1 }, (_, at) => ({ path: `${at}` }));
      const received = await expectOk(provider.spool.receive(chunked(archiveOf(...many))));
      expect(received.kind).toBe("refused");
    },
  },
  {
    group: "refuse",
    name: "an archive over the bytes that the caller allows is too_large",
    run: async ({ provider, sources }) => {
      const bytes = sources.hello("bounded");
      const over = await expectOk(provider.spool.receive(chunked(bytes), { fileBytes: bytes.length - 1 }));
      expect(over).toMatchObject({ kind: "refused", issues: [{ path: ["source_archive"], type: "too_large" }] });
      const within = await expectOk(provider.spool.receive(chunked(bytes), { fileBytes: bytes.length }));
      expect(within.kind).toBe("kept");
      if (within.kind === "kept") await within.source.discard();
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
  {
    group: "break",
    name: "a client that nobody waits for any more is unavailable, and is not read on",
    run: async ({ provider, sources }) => {
      const gone = new AbortController();
      let given = 0;
      async function* leaving() {
        for await (const chunk of chunked(sources.hello("gone"), 16)) {
          if (++given === 2) gone.abort();
          yield chunk;
        }
      }
      const error = await expectError(provider.spool.receive(leaving(), { signal: gone.signal }));
      expect(error.kind).toBe("unavailable");
    },
  },
  {
    group: "discard",
    name: "nothing is left of what is discarded",
    run: async (subject) => {
      const source = await receive(subject, subject.sources.hello("discarded"));
      await source.discard();
      const left = await collect(source.open()).catch(() => []);
      expect(Buffer.concat(left).length).toBe(0);
    },
  },
];
