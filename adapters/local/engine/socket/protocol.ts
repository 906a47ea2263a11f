/**
 * The protocol between the engine and the server: HTTP over a Unix socket. Each call is a POST with a JSON body. The
 * response consists of JSON lines: zero or more lines with progress, and then the result or an error.
 */
import { z } from "zod";
import { entry, name, owner, report, text, timestamp } from "./reports.ts";

/** Increase this number with each change that an older engine or server does not understand. */
export const PROTOCOL = 1;

/** The maximum size of a request, in bytes. The largest requests are batches of log entries. */
export const MAX_BODY = 16 * 1024 * 1024;

const candidate = z.strictObject({ name, createdAt: timestamp, revision: text });

/** The result of `fire` if too many requested fires of the schedule have not ended. Otherwise, a boolean. */
export const TOO_MANY_FIRES = "too_many_fires";

/** All calls, with their inputs. The callers are the server, an engine without the lease, and `portside upgrade`. */
export const inputs = {
  hello: z.strictObject({}),
  /** Stays open until the server disconnects. */
  session: z.strictObject({}),
  start: z.strictObject({ candidate, listenMillis: z.number().positive() }),
  end: z.strictObject({ candidate }),
  apply: z.strictObject({}),
  fire: z.strictObject({ service: z.strictObject({ name, owner }), fireId: text }),
  instances: z.strictObject({ service: z.strictObject({ name, owner }) }),
  append: z.strictObject({ entries: z.array(entry) }),
  writeAll: z.strictObject({ owner }),
  /** An engine of an earlier version lacks this call. The server then polls. */
  nextEntry: z.strictObject({ service: z.strictObject({ name, owner }) }),
  repair: z.strictObject({ owner, damaged: text }),
  checkFiles: z.strictObject({}),
  losesLogs: z.strictObject({}),
  metrics: z.strictObject({}),
  /**
   * Delivers a batch from an engine without the lease. The sender sends one batch at a time, and repeats a batch until
   * the result is true. The result is false if this engine does not hold the lease. Numbers start at 1.
   */
  push: z.strictObject({ sender: text, number: z.int().positive(), reports: z.array(report) }),
  /** Called by `portside upgrade`. Replaces the engine with a new process of the installed version. */
  upgrade: z.strictObject({}),
} as const;

export type CallName = keyof typeof inputs;
export type InputOf<Name extends CallName> = z.infer<(typeof inputs)[Name]>;

/** The response to `hello`. */
export const greeting = z.object({
  protocol: z.number(),
  ingressPort: z.number(),
  storagePort: z.number(),
  /** Missing if the engine does not terminate TLS. */
  tlsPort: z.number().optional(),
  httpPort: z.number().optional(),
  /** Missing if the TLS port does not serve the API. */
  httpsApi: z.string().optional(),
});
