/** The context of a build whose source cannot be read to its end. */
import { expect, test } from "vitest";
import { contextOf } from "../../../../../adapters/local/containers/build/build-context.ts";
import type { Source } from "../../../../../core/ports/source-spool.ts";
import { sourceOf } from "../../../../support/archives/archives.ts";

const archive = sourceOf({ Dockerfile: "FROM scratch", ".dockerignore": "*.log", "a.txt": "a".repeat(100_000) });

const sourceThat = (open: Source["open"]): Source => ({
  digest: "sha256:unused",
  bytes: archive.length,
  open,
  discard: async () => undefined,
});

test("reports a failure of the disk", async () => {
  const source = sourceThat(async function* () {
    yield archive.subarray(0, archive.length / 2);
    throw new Error("a failure of the disk");
  });
  const context = contextOf(source, "*.log", new AbortController().signal);
  await expect(Array.fromAsync(context)).rejects.toThrow("a failure of the disk");
});

test("reports a truncated archive", async () => {
  const source = sourceThat(async function* () {
    yield archive.subarray(0, archive.length / 2);
  });
  const context = contextOf(source, "*.log", new AbortController().signal);
  await expect(Array.fromAsync(context)).rejects.toThrow("unexpected end of file");
});
