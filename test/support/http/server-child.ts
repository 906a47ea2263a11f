/**
 * The API with the memory provider in a child process, with uploads on disk, so that tests can measure its memory and
 * log. `server-process.ts` starts it with the spool's folder and the log level as arguments.
 */
import { createMemoryProvider } from "../../../adapters/memory/index.ts";
import { createDiskSpool } from "../../../adapters/shared/archives/disk-spool.ts";
import { randomIds } from "../../../adapters/shared/runtime/system.ts";
import { createControlPlane } from "../../../core/control-plane.ts";
import { type AccountId, parseAccount } from "../../../core/domain/accounts/account.ts";
import { createPino, type LogLevel, loggerOf } from "../../../hosts/composition/logger.ts";
import { createServer } from "../../../hosts/http/server/server.ts";

const [spoolFolder = "", level = "silent"] = process.argv.slice(2);
const log = createPino(level as LogLevel);
const memory = createMemoryProvider({ logger: loggerOf(log) });
const provider = { ...memory.provider, spool: createDiskSpool(spoolFolder, randomIds) };
const app = await createServer({ controlPlane: createControlPlane({ ...memory.ports, provider }), logger: log });
await app.listen({ host: "127.0.0.1", port: 0 });

// Measures after a garbage collection: V8 delays collecting buffers on a busy machine, which changes resident memory.
let most = 0;
const sample = () => {
  const startedAt = performance.now();
  globalThis.gc?.();
  // The first collection frees buffers in another thread; the second one waits for that.
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  most = Math.max(most, heapUsed + external);
  return performance.now() - startedAt;
};
// Collections take at most a tenth of the time, even on a slow machine.
const sampleForever = () => setTimeout(sampleForever, Math.max(50, 9 * sample()));
sampleForever();

/** Returns the largest number of bytes since the last call. */
const held = (): number => {
  sample();
  const answer = most;
  most = 0;
  return answer;
};

process.on("message", async (question: { readonly ask: "key" | "held"; readonly account?: string }) => {
  if (question.ask === "held") return process.send?.(held());
  const made = await memory.identity.keys.create(parseAccount(question.account ?? "acme") as AccountId, "test");
  return process.send?.(made._unsafeUnwrap().key);
});
process.on("disconnect", () => process.exit(0));
process.send?.((app.server.address() as { port: number }).port);
