/** Secrets: named values with versions, which variables of deployments refer to. No response contains a value. */
import { z } from "zod";
import { err, ok, type Result } from "../../result.ts";
import { secretLimits } from "../accounts/limits.ts";
import type { Timestamp } from "../wire/instant.ts";
import { type Issue, issue } from "../wire/issue.ts";
import type { SecretName } from "../wire/names.ts";

/** A version of a secret. Its number and value never change. */
export interface SecretVersion {
  /** Increases with each version of the name, even after a deletion. */
  readonly version: number;
  /** Shows whether two versions have the same value. A client cannot guess the value from the digest. */
  readonly digest: string;
  readonly createdAt: Timestamp;
}

/** A secret as its store returns it, without values. */
export interface StoredSecret {
  readonly name: SecretName;
  /** Newest first; not empty. */
  readonly versions: readonly SecretVersion[];
}

/** Returns the number of the newest version. */
export const newestVersion = ({ versions }: StoredSecret): number =>
  Math.max(...versions.map(({ version }) => version));

/** The digest of a value, as JSON Schema. */
export const digestShape = { pattern: "^hmac:[0-9a-f]{32}$" } as const;

/** Parses the value of a secret. An issue must not contain the value, so it states only the rule and the size. */
export const parseSecretValue = (raw: unknown): Result<string, readonly Issue[]> => {
  const fail = (message: string, type: Issue["type"]) => err([issue([], message, type)]);
  if (raw === undefined) return fail("is required", "missing");
  if (typeof raw !== "string") return fail("must be a string; write numbers in quotes", "string_type");
  if (raw === "") return fail("must not be empty; delete the secret to remove its value", "string_too_short");
  if (raw.includes("\0"))
    return fail("must not contain a null byte; encode binary data, for example as base64", "value_error");
  // A lone surrogate has no UTF-8 form, so the service would see a different value.
  if (!raw.isWellFormed())
    return fail("must be valid Unicode; encode binary data, for example as base64", "value_error");
  const bytes = new TextEncoder().encode(raw).length;
  const { valueBytes: max } = secretLimits;
  return bytes > max
    ? fail(`must be at most ${max} bytes; got ${bytes}. Store larger data in a volume`, "too_large")
    : ok(raw);
};

/** Returns a message if an account with `count` secrets would have too many. */
export const secretQuotaProblem = (count: number): string | undefined =>
  count > secretLimits.count
    ? `your account may have at most ${secretLimits.count} secrets; delete one first`
    : undefined;

const version = z.int().meta({ description: "The number of the version." });
const digest = z.string().meta({
  ...digestShape,
  description: "Shows whether two versions have the same value. The value cannot be guessed from it.",
});

/** The schema of the response of `POST /v1/secret/set`. */
export const setSecretSchema = z
  .object({
    name: z.string(),
    version: z.int().meta({ description: "The version that has the value." }),
    digest,
    deploys: z
      .array(z.object({ name: z.string(), deploy_id: z.string() }))
      .meta({ description: "The deploys that give deployments the newest version, in the order in which they run." }),
  })
  .readonly();

/** The response of `POST /v1/secret/set`. */
export type SetSecretResponse = z.output<typeof setSecretSchema>;

/** The schema of a secret in `GET /v1/secret/list`. */
export const secretSchema = z
  .object({
    name: z.string(),
    versions: z
      .array(z.object({ version, digest, created_at: z.string().meta({ format: "date-time" }) }))
      .meta({ description: "Newest first." }),
    used_by: z
      .array(z.object({ name: z.string(), version }))
      .meta({ description: "The deployments that use the secret, each with the version." }),
  })
  .readonly();

/** A secret as clients see it. */
export type SecretRow = z.output<typeof secretSchema>;
