/** Output of builds and services reaches the user's terminal as text, without control sequences. */
import { expect, test } from "vitest";
import type { DeployEvent } from "../../../../core/domain/deploy/events.ts";
import { recordPrinter } from "../../../../hosts/cli/deploy/progress.ts";
import { terminal } from "../../../support/cli/terminal.ts";

const record = (message: string, log_tail: string[] = []): DeployEvent => ({
  status: "ERROR",
  message,
  time: "2026-01-01T00:00:00+00:00",
  deploy_id: "d",
  seq: 1,
  reason: "build_failed",
  log_tail,
});

test("escapes control characters of messages and last lines, and indents further lines", () => {
  const { io, stdout, stderr } = terminal({ columns: 80 });
  recordPrinter(io)(record("a\u001b]0;t\u0007\nDONE b", ["\u001b[2Jc\rd\u001b[32mgreen", "e\nerror: f"]));
  expect(stdout()).toContain("a\\x1b]0;t\\x07\n          DONE b\n");
  expect(stderr()).toContain("  | \\x1b[2Jc\\rd\u001b[32mgreen\u001b[0m\n  | e\n  | error: f\n");
});

test("prints no colours in a pipe", () => {
  const { io, stdout } = terminal();
  recordPrinter(io)(record("\u001b[32mgreen\u001b[39m"));
  expect(stdout()).toBe("ERROR     green\n");
});

test("prints each of a failed build's last lines once", () => {
  const { io, stdout, stderr } = terminal();
  const print = recordPrinter(io);
  const { log_tail: _tail, reason: _reason, ...line } = record("");
  for (const message of ["npm error code E404", "npm error 404 Not Found"])
    print({ ...line, status: "BUILDING", message });
  print(record("npm ci failed", ["npm error code E404", "npm error 404 Not Found", "npm ci failed", "more"]));
  expect(stdout()).toBe("BUILDING  npm error code E404\nBUILDING  npm error 404 Not Found\nERROR     npm ci failed\n");
  expect(stderr()).toBe("  | more\nerror: The deploy failed with 'build_failed'.\n");
});
