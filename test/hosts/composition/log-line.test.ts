/** The format of the server's log on a terminal. */
import { expect, test } from "vitest";
import { formatLogLine } from "../../../hosts/composition/log-line.ts";

const time = new Date(2026, 0, 2, 3, 4, 5).getTime();
const line = (more: object, coloured = false) => formatLogLine(`${JSON.stringify({ time, ...more })}\n`, coloured);

test.each([
  [{ level: 30, msg: "stopping" }, "03:04:05 INFO  stopping\n"],
  [{ level: 20, msg: "x", name: "app", count: 3, words: "a b" }, '03:04:05 DEBUG x  name=app  count=3  words="a b"\n'],
  [
    { level: 50, msg: "failed", cause: { type: "Error", message: "no", stack: "Error: no\n    at f (x.ts:1:2)" } },
    "03:04:05 ERROR failed\n  Error: no\n      at f (x.ts:1:2)\n",
  ],
  [{ level: 40, msg: "refused", cause: { kind: "unavailable" } }, '03:04:05 WARN  refused\n  {"kind":"unavailable"}\n'],
  [{ level: 30, msg: "a\u001b[2Jb", name: "c\u0007\u001b]0;t\u0007" }, "03:04:05 INFO  ab  name=c\n"],
  // A value cannot imitate a log line.
  [{ level: 30, msg: "a\n03:04:05 INFO  b" }, "03:04:05 INFO  a\n  03:04:05 INFO  b\n"],
])("%j", (entry, words) => {
  expect(line(entry)).toBe(words);
});

test("colours the level on a terminal with colours", () => {
  expect(line({ level: 40, msg: "x" }, true)).toBe("03:04:05 \u001b[33mWARN \u001b[39m x\n");
});
