/**
 * The protocol between the engine and the server: HTTP over a Unix socket. Each call is a POST with a JSON body. The
 * response consists of JSON lines: any progress of the call, and then its result or error.
 */
import { z } from "zod";
import { type HttpRequestLog, type NewLogEntry, severityNames } from "../../../../core/domain/logs/entry.ts";
import type { Timestamp } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";

/** Increase this number with each change that an older engine or server does not understand. */
export const PROTOCOL = 1;

/** The maximum size of a request, in bytes. The largest requests are batches of log entries. */
export const MAX_BODY = 16 * 1024 * 1024;

const text = z.string().max(1000);
const owner = text.transform((value) => value as NewLogEntry["owner"]);
const name = text.transform((value) => value as DeploymentName);
const candidate = z.strictObject({
  name,
  createdAt: text.transform((value) => value as Timestamp),
  revision: text,
});

const fields = z.record(z.string(), z.unknown());
const entry = z
  .strictObject({
    owner,
    service: name,
    severity: z.enum(severityNames),
    logName: z.enum(["stdout", "stderr", "requests", "platform"]),
    revision: z.string().optional(),
    instance: z.string().optional(),
    text: z.string().optional(),
    json: fields.optional(),
    http: fields.transform((value) => value as unknown as HttpRequestLog).optional(),
  })
  .transform((value) => value as NewLogEntry);

/** The calls of the server and their inputs. */
export const inputs = {
  hello: z.strictObject({}),
  /** Stays open until the server disconnects. */
  session: z.strictObject({}),
  start: z.strictObject({ candidate, listenMillis: z.number().positive() }),
  end: z.strictObject({ candidate }),
  apply: z.strictObject({}),
  append: z.strictObject({ entries: z.array(entry) }),
  writeAll: z.strictObject({ owner }),
  repair: z.strictObject({ owner, damaged: text }),
  checkFiles: z.strictObject({}),
  losesLogs: z.strictObject({}),
  metrics: z.strictObject({}),
} as const;

export type CallName = keyof typeof inputs;
export type InputOf<Name extends CallName> = z.infer<(typeof inputs)[Name]>;

/** The response to `hello`. */
export const greeting = z.object({
  protocol: z.number(),
  ingressPort: z.number(),
  storagePort: z.number(),
});
