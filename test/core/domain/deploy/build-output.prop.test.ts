/** The build output in a stream is bounded, and a line counts the omitted output. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { type DeployLimits, deployLimits } from "../../../../core/domain/accounts/limits.ts";
import { BuildOutput, cleanLine, withoutControls } from "../../../../core/domain/deploy/build-output.ts";

const LONG = /^The build output is too long/;
const LEFT_OUT = /^\.\.\. ([\d,]+) lines? \(([\d,]+) [kM]B\) of build output omitted \.\.\.$/;

const small = {
  ...deployLimits,
  lineBytes: 40,
  logTailLines: 3,
  outputLines: 8,
  outputBytes: 200,
  lastOutputLines: 5,
  lastOutputBytes: 120,
};

const shown = (lines: readonly string[], limits: DeployLimits = small) => {
  const output = new BuildOutput(limits);
  const during = lines.map((line) => output.take(line)).filter((line) => line !== undefined);
  return { during, atEnd: output.end(), tail: output.tail };
};

const lines = fc.array(fc.string({ unit: "binary", maxLength: 60 }), { maxLength: 60 });
const bytesOf = (some: readonly string[]) => some.reduce((sum, line) => sum + line.length + 1, 0);
const clean = (line: string) => cleanLine(line, small);

test("passes on output within the bounds, in order", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 20 }), { maxLength: small.outputLines }), (short) => {
      expect(shown(short)).toMatchObject({ during: short, atEnd: [] });
    }),
  );
});

test("shows the first and the last part in order and counts the rest", () => {
  fc.assert(
    fc.property(lines, (all) => {
      const { during, atEnd } = shown(all);
      const whole = all.map(clean);
      const first = during.filter((line, index) => !(index === during.length - 1 && LONG.test(line)));
      const count = LEFT_OUT.exec(atEnd[0] ?? "");
      const last = count === null ? atEnd : atEnd.slice(1);
      const missing = count === null ? 0 : Number(count[1]?.replaceAll(",", ""));
      expect(first).toEqual(whole.slice(0, first.length));
      expect(last).toEqual(last.length === 0 ? [] : whole.slice(-last.length));
      expect(first.length + missing + last.length).toBe(all.length);
    }),
  );
});

test("never exceeds the bounds of lines and bytes", () => {
  fc.assert(
    fc.property(lines, (all) => {
      const { during, atEnd, tail } = shown(all);
      expect(during.length).toBeLessThanOrEqual(small.outputLines + 1);
      expect(atEnd.length).toBeLessThanOrEqual(small.lastOutputLines + 1);
      expect(bytesOf(during.filter((line) => !LONG.test(line)))).toBeLessThanOrEqual(small.outputBytes);
      expect(bytesOf(atEnd.filter((line) => !LEFT_OUT.test(line)))).toBeLessThanOrEqual(small.lastOutputBytes);
      expect(tail).toEqual(all.map(clean).slice(-small.logTailLines));
    }),
  );
});

test("bounds the number of short lines, and reports the number and size of the omitted lines", () => {
  const output = new BuildOutput(deployLimits);
  let during = 0;
  for (let n = 0; n < 1_000_000; n++) if (output.take("y") !== undefined) during++;
  const atEnd = output.end();
  expect(during).toBe(deployLimits.outputLines + 1);
  expect(atEnd.length).toBe(deployLimits.lastOutputLines + 1);
  expect(atEnd[0]).toBe("... 979,000 lines (2 MB) of build output omitted ...");
});

test("reports one omitted line", () => {
  const some = Array.from({ length: small.outputLines + small.lastOutputLines + 1 }, (_, at) => `line ${at}`);
  expect(shown(some).atEnd[0]).toBe("... 1 line (1 kB) of build output omitted ...");
});

test.each([
  ["\u001b[31mred\u001b[0m", "red"],
  ["\u001b[1;38;2;1;2;3mbold\u001b[K", "bold"],
  ["\u009b31mred\u009b0m", "red"],
  ["a\u001b]0;title\u0007b\u001b]8;;http://x\u001b\\c", "abc"],
  ["\u001b(Btext\u001b7\u001b=", "text"],
  ["50 %\r100 %", "50 % 100 %"],
  ["a\u0000b\u0008c\u007f\td", "abc\td"],
  ["\u001b", ""],
  ["\u001b]0;no end", "0;no end"],
  ["#7 [2/3] RUN npm ci\n√ ✓ 日本", "#7 [2/3] RUN npm ci\n√ ✓ 日本"],
])("%j is shown as %j", (line, shown) => {
  expect(withoutControls(line)).toBe(shown);
});

test("removes every control character except tab and newline", () => {
  const pieces = fc.constantFrom("\u001b", "[", "]", "\u009b", "\u009d", "\u0007", "\\", "3", ";", "m", "\r", "x");
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 60 }), (parts) => {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are the subject
      expect(withoutControls(parts.join(""))).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
    }),
  );
});
