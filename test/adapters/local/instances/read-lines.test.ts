/** Splits a byte stream into lines, for any output and any chunks. */
import { PassThrough, Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { lastLinesIn, linesIn, readLines } from "../../../../adapters/local/instances/read-lines.ts";

const KiB = 1024;
const LIMIT = 256 * KiB;

const linesOf = async (chunks: readonly (string | Uint8Array)[]): Promise<string[]> => {
  const lines: string[] = [];
  const stream = Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
  await readLines(stream, (block) => {
    lines.push(...linesIn(block));
    return undefined;
  });
  return lines;
};

test.each([
  ["nothing", [], []],
  ["an empty line", ["\n"], [""]],
  ["two lines in one chunk", ["a\nb\n"], ["a", "b"]],
  ["a line in many chunks", ["a", "", "b", "c\n"], ["abc"]],
  ["no newline at the end", ["a\nlast words"], ["a", "last words"]],
  ["CRLF, also across chunks", ["a\r\nb\r", "\nc\r"], ["a", "b", "c"]],
  ["a lone CR inside", ["10 %\r20 %\n"], ["10 %\r20 %"]],
  ["a character across chunks", [Buffer.from("é").subarray(0, 1), Buffer.from("é\n").subarray(1)], ["é"]],
  ["invalid UTF-8", [Buffer.from([0x61, 0xff, 0xfe, 0x62, 10])], ["a\ufffd\ufffdb"]],
  ["NUL and control characters", ["a\u0000\u001b[31mb\n"], ["a\u0000\u001b[31mb"]],
])("splits %s", async (_what, chunks, expected) => {
  expect(await linesOf(chunks)).toEqual(expected);
});

describe("a line over the limit", () => {
  test.each([
    ["with its end", [`${"x".repeat(300 * KiB)}\nnext\n`]],
    ["without an end", ["x".repeat(300 * KiB), "\nnext"]],
    ["in small pieces", [...Array.from({ length: 300 }, () => "x".repeat(KiB)), "\nnext"]],
  ])("is cut into several lines, %s", async (_what, chunks) => {
    const lines = await linesOf(chunks);
    expect(lines.map((line) => line.length)).toEqual([LIMIT, 44 * KiB, 4]);
  });

  test("is never cut within a character", async () => {
    // With three bytes per character, the limit falls inside one.
    const text = "€".repeat(100 * KiB);
    const lines = await linesOf([text]);
    expect(lines.length).toBe(2);
    expect(lines.join("") === text).toBe(true);
  });

  test("is cut even if it is not UTF-8", async () => {
    const lines = await linesOf([Buffer.alloc(LIMIT + 10, 0x80), "\n"]);
    expect(lines.join("").length).toBe(LIMIT + 10);
  });
});

test("delivers the same lines for any chunks", async () => {
  const piece = fc.string({ unit: fc.constantFrom("a", "é", "😀", "\r", "\n", "\0"), maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 20 }), fc.infiniteStream(fc.nat(7)), async (pieces, sizes) => {
      const bytes = Buffer.from(pieces.join(""));
      const chunks: Buffer[] = [];
      for (let at = 0; at < bytes.length; ) {
        const size = (sizes.next().value as number) + 1;
        chunks.push(bytes.subarray(at, at + size));
        at += size;
      }
      const whole = pieces.join("").split("\n");
      if (whole.at(-1) === "") whole.pop();
      expect(await linesOf(chunks)).toEqual(whole.map((line) => line.replace(/\r$/, "")));
    }),
  );
});

test("returns the last lines of a block", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom("", "a", "bc\r", "é")), fc.integer({ min: 1, max: 5 }), (lines, count) => {
      const block = Buffer.from(lines.map((line) => `${line}\n`).join(""));
      if (lines.length > 0) expect(lastLinesIn(block, count)).toEqual(linesIn(block).slice(-count));
    }),
  );
  expect(lastLinesIn(Buffer.from("a piece of a line"), 5)).toEqual(["a piece of a line"]);
});

test("preserves a carriage return at a cut", async () => {
  const text = `${"x".repeat(LIMIT - 1)}\rrest`;
  expect((await linesOf([text])).join("") === text).toBe(true);
});

test("applies backpressure while the reader is busy", async () => {
  let made = 0;
  async function* endless() {
    for (; made < 100_000; made++) yield Buffer.from(`${made}\n`);
  }
  const { promise: busy, resolve: free } = Promise.withResolvers<void>();
  const stream = Readable.from(endless(), { highWaterMark: 1 });
  const lines: string[] = [];
  const reading = readLines(stream, (block) => {
    lines.push(...linesIn(block));
    return lines.length === 10 ? busy : undefined;
  });
  await sleep(50);
  expect(lines.length).toBe(10);
  expect(made).toBeLessThan(100);
  free();
  await reading;
  expect(lines.length).toBe(100_000);
});

test("delivers the lines before a stream error", async () => {
  async function* breaks() {
    yield Buffer.from("one\ntw");
    throw new Error("EIO");
  }
  const lines: string[] = [];
  await readLines(Readable.from(breaks()), (block) => void lines.push(...linesIn(block)) as undefined);
  expect(lines).toEqual(["one", "tw"]);
});

describe("an unfinished line", () => {
  afterEach(() => void vi.useRealTimers());

  /** Returns the lines of a stream that is silent for `millis` after each chunk. */
  const linesFrom = async (...pieces: readonly (readonly [text: string | Uint8Array, millis: number])[]) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const stream = new PassThrough();
    const lines: string[] = [];
    const reading = readLines(stream, (block) => void lines.push(...linesIn(block)) as undefined);
    const after: string[][] = [];
    for (const [text, millis] of pieces) {
      stream.write(Buffer.from(text));
      await taken(stream);
      await vi.advanceTimersByTimeAsync(millis);
      await turns();
      after.push([...lines]);
    }
    stream.end();
    await reading;
    return { lines, after };
  };
  /** Pacing uses the real clock, so wait for it. */
  const taken = async (stream: PassThrough) => {
    do await turns();
    while (stream.readableLength > 0);
    await turns();
  };
  const turns = async () => {
    for (let n = 0; n < 3; n++) await new Promise((resolve) => setImmediate(resolve));
  };

  test("is delivered after a second of silence, and its end becomes another line", async () => {
    const { lines, after } = await linesFrom(["one\npassword: ", 999], ["still ", 1000], ["secret\nlast\n", 0]);
    expect(after[0]).toEqual(["one"]);
    expect(after[1]).toEqual(["one", "password: still "]);
    expect(lines).toEqual(["one", "password: still ", "secret", "last"]);
  });

  test("does not deliver an empty end", async () => {
    expect((await linesFrom(["10 %\r", 1000], ["\n", 0], ["\n", 0])).lines).toEqual(["10 %", ""]);
    expect((await linesFrom(["waiting", 1000])).lines).toEqual(["waiting"]);
  });

  test("is not cut within a character", async () => {
    const euro = Buffer.from("€\n");
    const { lines } = await linesFrom(
      ["5 ", 0],
      [euro.subarray(0, 1), 1000],
      [euro.subarray(1, 2), 2000],
      [euro.subarray(2), 0],
    );
    expect(lines).toEqual(["5 ", "€"]);
  });

  test("is not delivered while the writer continues it", async () => {
    const pieces = Array.from({ length: 20 }, (_, n) => [`${n} `, 900] as const);
    expect((await linesFrom(...pieces)).lines).toEqual([pieces.map(([text]) => text).join("")]);
  });

  test("applies backpressure while the reader is busy", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { promise: busy, resolve: free } = Promise.withResolvers<void>();
    const stream = new PassThrough();
    const lines: string[] = [];
    const reading = readLines(stream, (block) => {
      lines.push(...linesIn(block));
      return lines.at(-1) === "wait" ? busy : undefined;
    });
    stream.write("wait");
    await turns();
    await vi.advanceTimersByTimeAsync(1000);
    stream.end(" for it\nnext\n");
    await turns();
    expect(lines).toEqual(["wait"]);
    free();
    await reading;
    expect(lines).toEqual(["wait", " for it", "next"]);
  });
});
