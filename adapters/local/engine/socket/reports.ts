/** Schemas for parts of the messages between engines, and between an engine and its server. */
import { z } from "zod";
import {
  type HttpRequestLog,
  type JsonPayload,
  type NewLogEntry,
  severityNames,
} from "../../../../core/domain/logs/entry.ts";
import type { Timestamp } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { skus } from "../../usage/skus.ts";

export const text = z.string().max(1000);
export const owner = text.transform((value) => value as NewLogEntry["owner"]);
export const name = text.transform((value) => value as DeploymentName);
export const timestamp = text.transform((value) => value as Timestamp);

/**
 * Accepts an object and keeps all its fields. A zod record would drop the field `__proto__`, which services may log.
 */
const object = <T extends object>() =>
  z.custom<T>((value) => typeof value === "object" && value !== null && !Array.isArray(value));

export const entry = z
  .strictObject({
    owner,
    service: name,
    severity: z.enum(severityNames),
    logName: z.enum(["stdout", "stderr", "requests", "platform"]),
    revision: z.string().optional(),
    instance: z.string().optional(),
    text: z.string().optional(),
    json: object<JsonPayload>().optional(),
    http: object<HttpRequestLog>().optional(),
  })
  .transform((value) => value as NewLogEntry);

/** An integer as text, because a JSON number loses precision above 2^53. Instants are in nanoseconds. */
const integer = z.string().regex(/^-?\d{1,30}$/);

const service = z.strictObject({ owner, name, createdAt: timestamp });
const increment = z.strictObject({ owner: text, deployment: text, day: text, sku: z.enum(skus), grains: integer });
const rollupRow = z.strictObject({ minute: z.int(), owner: text, name: text, rollup: z.string().max(5000) });
const attempts = z.int().nonnegative();
const fireId = text.optional();

/** A report that only the engine with the lease can store or act on. Other engines forward it. */
export const report = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("entry"), at: integer, entry }),
  z.strictObject({ kind: z.literal("usage"), increments: z.array(increment) }),
  z.strictObject({ kind: z.literal("metrics"), rows: z.array(rollupRow) }),
  /** The result of a fire's latest attempt. */
  z.strictObject({
    kind: z.literal("fire"),
    service,
    fire: z.strictObject({ at: timestamp, status: z.int().nullable(), attempts, fireId }),
  }),
  /** A fire that waits for its next attempt. */
  z.strictObject({
    kind: z.literal("retry"),
    service,
    fire: z.strictObject({ scheduled: integer, attempts, at: integer, fireId }),
  }),
]);

export type EngineReport = z.infer<typeof report>;
