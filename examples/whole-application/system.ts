/** The application's own clock and logger. */
import { instantOfMillis } from "portside";
import type { Clock, Logger } from "portside/ports";

export const createClock = (): Clock & { readonly asked: () => number } => {
  let asked = 0;
  return {
    asked: () => asked,
    now: () => {
      asked += 1;
      return instantOfMillis(Date.now());
    },
    sleep: (millis, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const timer = setTimeout(resolve, millis);
        signal?.addEventListener("abort", () => resolve(clearTimeout(timer)), { once: true });
      }),
  };
};

export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly fields?: object;
}
export const createLogger = (write: (line: LogLine) => void): Logger => {
  const at = (level: string) => (message: string, fields?: object) =>
    write({ level, message, ...(fields === undefined ? {} : { fields }) });
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
};
