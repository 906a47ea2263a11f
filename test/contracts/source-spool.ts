/** The contract suite of `SourceSpool`. */
import { expect } from "vitest";
import { archiveLimits } from "../../core/domain/accounts/limits.ts";
import { type ArchivedEntry, archiveOf, paxOf } from "./archives.ts";
import type { ContractCase, ProviderSubject } from "./harness.ts";
import { chunked, collect, expectError, expectOk, receive } from "./support.ts";

type Case = ContractCase<ProviderSubject>;

async function* breaking(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes.subarray(0, bytes.length / 2);
  throw new Error("the client disconnected");
}

const file = (path: string): ArchivedEntry => ({ path, content: "x" });

/** A file with a path of any length. */
const fileAt = (path: string): ArchivedEntry[] => [paxOf({ path }), file("short")];

/** GNU tar's header for a path of more than 100 bytes. */
const longName = (path: string): ArchivedEntry => ({ path: "././@LongLink", type: "L", content: `${path}\0` });

const long = `${"folder/".repeat(20)}file`;

/** Archives that common packers write, and that all tar readers read in the same way. */
const keptArchives: readonly (readonly [string, ...ArchivedEntry[]])[] = [
  [
    "a long path of pax",
    paxOf({ mtime: "1700000000.5", path: long, "SCHILY.xattr.user.a": "b\npath=c" }),
    file("short"),
  ],
  ["a long path of GNU tar", longName(long), file("short")],
  ["a pax size that agrees", paxOf({ size: "1" }), file("sized")],
  ["a comment for all entries", paxOf({ comment: "4b825dc6" }, "g"), file("noted")],
  ["a repeated file", file("twice"), file("twice")],
  ["a folder after its files", file("lib/a"), { path: "lib/", type: "5" }],
  ["a folder of an old archive", { path: "old/", type: "\0" }, { path: "old/file", type: "\0", content: "x" }],
  ["names that differ in case", file("README"), file("readme/a")],
];

/** Returns the case of an archive whose last entry is invalid. */
const refusing = (what: string, named: string, ...entries: readonly ArchivedEntry[]): Case => ({
  group: "refuse",
  name: `${what} fails with archive_invalid and names the entry`,
  run: async ({ provider }) => {
    const bytes = archiveOf({ path: "package.json", content: "{}" }, ...entries);
    const received = await expectOk(provider.spool.receive(chunked(bytes)));
    const issue = { path: ["source_archive"], type: "archive_invalid", message: expect.stringContaining(named) };
    expect(received).toMatchObject({ kind: "rejected", issues: [issue] });
  },
});

/** The contract suite of `SourceSpool`. */
export const sourceSpoolCases: readonly Case[] = [
  {
    group: "keep",
    name: "a valid archive is stored byte for byte and can be read repeatedly",
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
    name: "the digest depends on the bytes only",
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
    name: "an invalid or truncated archive is refused with archive_invalid on source_archive",
    run: async ({ provider, sources }) => {
      const whole = sources.hello("cut");
      for (const bytes of [Buffer.from("not an archive"), Buffer.alloc(0), whole.subarray(0, whole.length - 20)]) {
        const received = await expectOk(provider.spool.receive(chunked(bytes)));
        expect(received).toMatchObject({
          kind: "rejected",
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
      ["an entry whose size exceeds the limit", { path: "huge", size: archiveLimits.entryBytes + 1 }, "too_large"],
    ] as const
  ).map(([what, entry]) => refusing(what, entry.path, entry)),
  refusing("a file below a file", "config/app", file("config"), file("config/app")),
  refusing("a file at a folder's path", "config", file("config/app"), file("config")),
  refusing("a folder at a file's path", "config", file("config"), { path: "config/", type: "5" }),
  refusing("a name over 255 bytes", "n".repeat(50), paxOf({ path: `lib/${"n".repeat(256)}` }), file("short")),
  refusing("a file with the path of a folder", "./", file("./")),
  refusing("a link's target in a pax header of a file", "target", paxOf({ linkpath: "/etc/passwd" }), file("target")),
  refusing("a line end in a pax path", "two", paxOf({ path: "two\nlines" }), file("two")),
  refusing("a NUL in a pax path", "two", paxOf({ path: "two\0parts" }), file("two")),
  refusing("a path that is not UTF-8", "bin-", { path: Buffer.from("bin-\xff\xfe", "latin1"), content: "x" }),
  refusing("an empty pax path", "named", paxOf({ path: "" }), file("named")),
  refusing("a second path", "second", paxOf({ path: "first" }), longName("second"), file("third")),
  refusing("a path for all entries", "mine", paxOf({ path: "shared" }, "g"), file("mine")),
  refusing("a pax size that disagrees", "sized", paxOf({ size: "2" }), file("sized")),
  refusing("a negative size", "below", { path: "below", size: `\xff${"\xff".repeat(10)}\x00` }),
  refusing("a size that is not a number", "odd", { path: "odd", size: "12345x\0" }),
  refusing("a sparse file of GNU tar", "holes", { path: "holes", type: "S", content: "x" }),
  refusing("a sparse file of pax", "holes", paxOf({ "GNU.sparse.major": "1" }), file("holes")),
  {
    group: "refuse",
    name: "more folders than the entry limit are refused, even if only paths imply them",
    run: async ({ provider }) => {
      // Each file implies 60 new folders, which makes 61 entries.
      const files = Math.ceil(archiveLimits.entries / 61);
      const deep = (at: number) => fileAt(`${at}/${"d/".repeat(59)}${at}`);
      const received = await expectOk(
        provider.spool.receive(chunked(archiveOf(...Array.from({ length: files }, (_, at) => deep(at)).flat()))),
      );
      expect(received).toMatchObject({
        kind: "rejected",
        issues: [{ type: "archive_invalid", message: expect.stringContaining(`${files - 1}/d/d/`) }],
      });
    },
  },
  {
    group: "keep",
    name: "folders that many paths share count once",
    run: async (subject) => {
      const shared = Array.from({ length: 1000 }, (_, at) => fileAt(`${"d/".repeat(60)}${at}`)).flat();
      await (await receive(subject, archiveOf(...shared))).discard();
    },
  },
  ...keptArchives.map(
    ([what, ...entries]): Case => ({
      group: "keep",
      name: `${what} is accepted`,
      run: async (subject) => (await receive(subject, archiveOf(...entries))).discard(),
    }),
  ),
  {
    group: "refuse",
    name: "more entries than the limit are refused",
    run: async ({ provider }) => {
      const many = Array.from({ length: archiveLimits.entries + 1 }, (_, at) => ({ path: `${at}` }));
      const received = await expectOk(provider.spool.receive(chunked(archiveOf(...many))));
      expect(received.kind).toBe("rejected");
    },
  },
  {
    group: "refuse",
    name: "an archive above the caller's byte limit is refused with too_large",
    run: async ({ provider, sources }) => {
      const bytes = sources.hello("bounded");
      const over = await expectOk(provider.spool.receive(chunked(bytes), { fileBytes: bytes.length - 1 }));
      expect(over).toMatchObject({ kind: "rejected", issues: [{ path: ["source_archive"], type: "too_large" }] });
      const within = await expectOk(provider.spool.receive(chunked(bytes), { fileBytes: bytes.length }));
      expect(within.kind).toBe("accepted");
      if (within.kind === "accepted") await within.source.discard();
    },
  },
  {
    group: "refuse",
    name: "stops reading as soon as possible",
    run: async ({ provider }) => {
      let given = 0;
      async function* endless() {
        for (;;) {
          given++;
          yield Buffer.alloc(1024, 7);
        }
      }
      const received = await expectOk(provider.spool.receive(endless()));
      expect(received.kind).toBe("rejected");
      expect(given).toBeLessThan(100);
    },
  },
  {
    group: "break",
    name: "a source stream that breaks fails with unavailable",
    run: async ({ provider, sources }) =>
      expect((await expectError(provider.spool.receive(breaking(sources.hello("broken"))))).kind).toBe("unavailable"),
  },
  {
    group: "break",
    name: "an abort fails with unavailable and stops reading",
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
    name: "a discarded source has no bytes left",
    run: async (subject) => {
      const source = await receive(subject, subject.sources.hello("discarded"));
      await source.discard();
      const left = await collect(source.open()).catch(() => []);
      expect(Buffer.concat(left).length).toBe(0);
    },
  },
];
