/** The line that shows the progress of a transfer. */
import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import { formatDuration, formatSize } from "../../../../hosts/cli/volumes/transfer/format.ts";
import { barLine, ProgressBar } from "../../../../hosts/cli/volumes/transfer/progress-bar.ts";

const MiB = 1024 ** 2;

test.each([
  [0, "0 B"],
  [999, "999 B"],
  [1000, "0.9 KiB"],
  [1536, "1.5 KiB"],
  [256 * MiB, "256 MiB"],
  [256 * MiB - 1, "255 MiB"],
  [5 * 1024 * MiB, "5 GiB"],
  [2 ** 50, "1 PiB"],
])("%d bytes are %s", (bytes, words) => expect(formatSize(bytes)).toBe(words));

test.each([
  [0.1, "1 s"],
  [88.5, "89 s"],
  [89.5, "2 min"],
  [3540, "59 min"],
  [3541, "1 h 0 min"],
  [4800, "1 h 20 min"],
])("%d seconds are %s", (seconds, words) => expect(formatDuration(seconds)).toBe(words));

describe("a line", () => {
  const progress = { name: "file.bin", done: 120 * MiB, total: 256 * MiB, rate: 80 * MiB };

  test("has the share, the rate and the time left", () => {
    expect(barLine(progress, 100)).toBe("file.bin   46 % ▕████      ▏ 120 MiB of 256 MiB  80 MiB/s  2 s left");
  });

  test("of an unknown total has bytes and rate", () => {
    expect(barLine({ ...progress, total: undefined }, 100)).toBe("file.bin  120 MiB  80 MiB/s");
  });

  test("shows 100 % only at the end, and immediately for an empty transfer", () => {
    expect(barLine({ ...progress, done: 256 * MiB - 1 }, 100)).toContain(" 99 %");
    expect(barLine({ ...progress, done: 0, total: 0, rate: undefined }, 100)).toContain("100 %");
  });

  test("shows no time left while nothing moves", () => {
    expect(barLine({ ...progress, rate: 0 }, 100)).toBe("file.bin   46 % ▕████      ▏ 120 MiB of 256 MiB  0 B/s");
  });

  test.each([10, 40, 70, 75])("fits in %d columns", (columns) => {
    expect(barLine({ ...progress, name: "a-name-that-is-much-too-long.bin" }, columns).length).toBeLessThanOrEqual(
      columns,
    );
  });
});

describe("a bar", () => {
  const drawn = (isTTY: boolean) => {
    const lines: string[] = [];
    let now = 0;
    const stderr = { write: (text: string) => lines.push(text), isTTY, columns: 100 };
    const bar = new ProgressBar({ stderr, env: {} } as never, "f", 100 * MiB, () => now);
    const last = () => stripVTControlCharacters(lines.at(-1) ?? "");
    return { bar, lines, last, wait: (millis: number) => (now += millis) };
  };

  test("shows the rate of the last seconds, without resumed bytes", () => {
    const { bar, last, wait } = drawn(true);
    bar.skip(50 * MiB);
    wait(1000);
    bar.move(10 * MiB);
    expect(last()).toContain("60 MiB of 100 MiB  10 MiB/s  4 s left");
    for (let second = 0; second < 20; second++) {
      wait(1000);
      bar.move(MiB);
    }
    expect(last()).toContain("  1 MiB/s");
  });

  test("is drawn at most ten times a second, and is cleared at the end", () => {
    const { bar, lines, wait } = drawn(true);
    for (let step = 0; step < 1000; step++) {
      wait(1);
      bar.move(1);
    }
    expect(lines).toHaveLength(10);
    bar.end();
    expect(lines.at(-1)).toBe("\r\u001b[2K");
  });

  test("prints nothing in a pipe", () => {
    const { bar, lines } = drawn(false);
    bar.move(1);
    bar.end();
    expect(lines).toEqual([]);
  });
});
