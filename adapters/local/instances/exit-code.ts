/** Interprets exit statuses, including those that encode a signal. */
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

/** Shells, sandboxes and containers report the exit code 128 + N if signal N ended the command. */
export const exitOf = (code: number | null, signal: string | null): Exit => {
  const hidden = code !== null && code > 128 ? signalNames[code - 128] : undefined;
  return { code: hidden === undefined ? code : null, signal: hidden ?? signal, outOfMemory: false };
};
