/** What a command's exit status says: also of the signal that ended it inside of a shell, a sandbox or a container. */
import type { Exit } from "../sandbox/runner.ts";

const signalNames: Readonly<Record<number, string>> = {
  4: "SIGILL",
  5: "SIGTRAP",
  6: "SIGABRT",
  7: "SIGBUS",
  8: "SIGFPE",
  9: "SIGKILL",
  11: "SIGSEGV",
  13: "SIGPIPE",
  15: "SIGTERM",
  31: "SIGSYS",
};

/** A shell reports a signal that ended its command as 128 + its number, and so do sandboxes and containers. */
export const exitOf = (code: number | null, signal: string | null): Exit => {
  const hidden = code !== null && code > 128 ? signalNames[code - 128] : undefined;
  return hidden === undefined
    ? { code, signal, outOfMemory: false }
    : { code: null, signal: hidden, outOfMemory: false };
};
