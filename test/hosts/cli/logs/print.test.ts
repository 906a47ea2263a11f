/** Entries as text. The output has all fields of an entry, and no text of a service controls the terminal. */
import { describe, expect, test } from "vitest";
import type { LogRow } from "../../../../hosts/cli/logs/follow.ts";
import { printRow } from "../../../../hosts/cli/logs/print.ts";
import { terminal } from "../../../support/cli/terminal.ts";

const TIME = "2026-01-01 00:00:00.000Z";

const shown = (row: Partial<LogRow>, env: NodeJS.ProcessEnv = {}, columns?: number): string => {
  const { io, stdout } = terminal({ env, ...(columns === undefined ? {} : { columns }) });
  const whole: LogRow = {
    timestamp: "2026-01-01T00:00:00+00:00",
    severity: "INFO",
    message: "",
    log_name: "stdout",
    insert_id: "1",
    ...row,
  };
  printRow(io, whole);
  return stdout();
};

/** The printed line without time, severity and source. */
const messageOf = (fields: unknown, row: Partial<LogRow> = {}): string =>
  shown({ ...row, message: JSON.stringify(fields) })
    .slice(`${TIME} EMERGENCY platform `.length)
    .trimEnd();

test("the columns fit the longest values, and the time has its zone", () => {
  expect(shown({ message: "hi" })).toBe(`${TIME} INFO      stdout   hi\n`);
  expect(shown({ message: "hi", severity: "EMERGENCY", log_name: "platform" })).toBe(`${TIME} EMERGENCY platform hi\n`);
});

describe("a service's output", () => {
  const hostile = "\u001b]0;title\u0007a\u001b[2Jb\u009b31mc\rd\be\u202ef\u0000g\u001b[31mred\th\n2026-01-01 forged";
  const written = "\\x1b]0;title\\x07a\\x1b[2Jb\\x9b31mc\\rd\\be\\u202ef\\x00g";

  test("keeps its colours up to its end, and has all other control characters escaped", () => {
    const text = shown({ message: hostile }, { TERM: "xterm" }, 80);
    expect(text).toContain(`${written}\u001b[31mred\th\n    2026-01-01 forged\u001b[0m\n`);
  });

  test("has no colours in a pipe or with NO_COLOR", () => {
    const plain = `${TIME} INFO      stdout   ${written}red\th\n    2026-01-01 forged\n`;
    expect(shown({ message: hostile })).toBe(plain);
    expect(shown({ message: hostile }, { NO_COLOR: "1" }, 80)).toBe(plain);
    expect(shown({ message: hostile }, { TERM: "dumb" }, 80)).toBe(plain);
    expect(shown({ message: hostile }, { FORCE_COLOR: "1" })).toContain("\u001b[31mred");
  });

  test("cannot imitate another entry, not even with its fields", () => {
    for (const message of [
      `a\n${TIME} INFO`,
      JSON.stringify({ msg: `a\n${TIME}` }),
      `{"msg":"a","stack":"b\\n${TIME}"}`,
    ])
      for (const line of shown({ message }).trimEnd().split("\n").slice(1)) expect(line).toMatch(/^ {4}/);
  });
});

describe("a structured entry", () => {
  test.each([
    ["its message, then its fields", { message: "hi", user: "ann", n: 2 }, "hi user=ann n=2"],
    ["a message without pino's own fields", { level: 30, time: 1.7e12, pid: 1, hostname: "h", msg: "hi" }, "hi"],
    ["a pid and a time that the service sets itself", { msg: "hi", pid: 7, time: 12 }, "hi pid=7 time=12"],
    ["structlog's event as the message", { event: "paid", level: "info" }, "paid"],
    ["an event next to a message", { event: "paid", message: "hi" }, "hi event=paid"],
    ["a message that is not text", { msg: { a: 1 } }, '{"a":1}'],
    ["an unknown level", { msg: "hi", level: "audit" }, "hi level=audit"],
    ["its JSON instead of an empty line", { level: "info" }, '{"level":"info"}'],
    ["an empty object", {}, "{}"],
    ["a request that a service logs itself", { msg: "hi", httpRequest: { status: 1 } }, 'hi httpRequest={"status":1}'],
    [
      "quotes around values that would be ambiguous",
      { msg: "hi", a: "1", b: "x y", c: "", d: "null", "e f": "k=v" },
      'hi a="1" b="x y" c="" d="null" "e f"="k=v"',
    ],
    [
      "a summary of pino-http's request and response",
      { msg: "done", req: { id: 1, method: "GET", url: "/x", headers: {} }, res: { statusCode: 200, headers: {} } },
      'done req="GET /x" res=200',
    ],
    [
      "an error as pino writes it",
      { msg: "no", err: { type: "TypeError", message: "bad", stack: "TypeError: bad\n    at f", code: "E1" } },
      "no err.code=E1\n    TypeError: bad\n        at f",
    ],
    ["an error without a stack", { msg: "no", err: { type: "Error", message: "bad" } }, 'no err="Error: bad"'],
    ["a traceback", { message: "no", exception: "Traceback:\n  File\n" }, "no\n    Traceback:\n      File"],
    ["a text of several lines", { message: "hi", sql: "SELECT\n1" }, "hi\n    sql:\n    SELECT\n    1"],
  ])("shows %s", (_what, fields, text) => expect(messageOf(fields)).toBe(text));

  test("of the platform shows the event's message without its name", () => {
    expect(messageOf({ event: "idle", message: "Stopping an idle instance" }, { log_name: "platform" })).toBe(
      "Stopping an idle instance",
    );
  });

  test("of a request is one short line", () => {
    const http = { requestMethod: "GET", requestUrl: "http://h/a?b", status: 200, latency: "0.012s" };
    expect(messageOf({ httpRequest: http, request_id: "r" }, { log_name: "requests" })).toBe("GET /a?b → 200 in 12 ms");
  });
});
