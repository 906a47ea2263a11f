/** The reasons why a machine cannot start sandboxes. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createBubblewrapRunner } from "../../../../adapters/local/sandbox/bubblewrap.ts";
import { Watchdog } from "../../../../adapters/local/sandbox/watchdog.ts";

const TRIAL_USER = 2_100_000_000;
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "portside-programs-"));
  vi.stubEnv("PATH", folder);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const create = () => createBubblewrapRunner(join(folder, "files"), undefined, new Watchdog(), TRIAL_USER);

test("names a missing program", () => {
  expect(create()).toBe("bubblewrap (bwrap) is not installed");
});

test("names a program that cannot be started", () => {
  const program = join(folder, "bwrap");
  writeFileSync(program, "");
  chmodSync(program, 0o600);
  expect(create()).toBe("bubblewrap (bwrap) cannot be started (EACCES)");
});
