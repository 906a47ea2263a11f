/** Runs the contract suites that Portside's own stores pass. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMemoryProvider } from "portside/memory";
import { contractTests, freshNames, logSearchCases, logStoreCases } from "portside/testing";
import { createFileLogs } from "./file-logs.ts";

const start = async () => {
  const folder = mkdtempSync(join(tmpdir(), "file-logs-"));
  const { provider, ports } = createMemoryProvider();
  const logs = createFileLogs(folder, ports.clock, ports.compilePattern);
  return {
    subject: { provider: { ...provider, logs }, ...freshNames("files") },
    close: async () => rmSync(folder, { recursive: true, force: true }),
  };
};

const { capabilities: others } = createMemoryProvider().provider;
// The store has no method `before`, so it cannot search backwards.
const no = { supported: false, reason: "the store searches only forwards" } as const;
const capabilities = { ...others, logs: { ...others.logs, descending: no, histogram: no, values: no } };

contractTests("logs in files", [...logStoreCases, ...logSearchCases], start, capabilities);
