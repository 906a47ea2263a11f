/** A logger that discards everything, and one that records everything. */
import type { Logger } from "../../../core/ports/system.ts";

const nothing = (): void => undefined;

export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

export const recordingLogger = (): { readonly logger: Logger; readonly logged: string[] } => {
  const logged: string[] = [];
  const keep = (message: string, fields?: object) => void logged.push(`${message} ${JSON.stringify(fields ?? {})}`);
  return { logger: { debug: keep, info: keep, warn: keep, error: keep }, logged };
};
