/** Volumes in memory agree with the model through any life. */
import fc from "fast-check";
import { test } from "vitest";
import { ok } from "../../core/result.ts";
import { recordsOf, startMemory, whileTicking } from "../support/memory-platform.ts";
import { runs, within } from "../support/runs.ts";
import { storageAccounts, storageLife } from "./storage-life.ts";
import { emptyModel, type StorageSystem } from "./storage-model.ts";

const memorySystem = (): StorageSystem & { close(): Promise<void> } => {
  const platform = startMemory();
  const { controlPlane, clock, principal, submit } = platform;
  return {
    controlPlane,
    principal,
    deploy: async (account, fields) => {
      const run = await whileTicking(clock, submit(fields, account));
      return run.isErr() ? run.map(() => []) : ok(await recordsOf(platform, run.value));
    },
    pass: () => clock.advance(1),
    close: () => platform.memory.close(),
  };
};

test("any life of volumes in memory is the model's", { timeout: within(60_000) }, async () => {
  await fc.assert(
    fc.asyncProperty(storageLife(), async (life) => {
      const real = memorySystem();
      try {
        await fc.asyncModelRun(() => ({ model: emptyModel(storageAccounts), real }), life);
      } finally {
        await real.close();
      }
    }),
    runs(60),
  );
});
