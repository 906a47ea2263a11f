/**
 * Signed URLs (V4) of Cloud Storage. The credentials' own key signs them; without a key, IAM's signBlob does. The
 * service account then needs `roles/iam.serviceAccountTokenCreator` on itself.
 * https://cloud.google.com/storage/docs/access-control/signed-urls
 */
import mime from "mime";
import type { ObjectPath } from "../../../core/domain/volumes/object-path.ts";
import { type Instant, instantOfMillis, millisOf } from "../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { Logger } from "../../../core/ports/system.ts";
import type { Grant, StoredVolume } from "../../../core/ports/volume-store.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import type { VolumeStoreDeps } from "./volume-call.ts";

/**
 * Maximum lifetime of a URL that IAM signs; with a service account's own key it is seven days:
 * https://cloud.google.com/storage/docs/access-control/signed-urls-v4-limits
 */
const MAX_LIFETIME_MS = 12 * 3_600_000;

const SECOND_MS = 1000;

/** Rounds down to seconds, so that the URL does not outlive `until`; undefined if `until` has passed. */
const lifetimeOf = (now: number, until: number): { accessibleAt: number; expires: number } | undefined => {
  const wholeSeconds = (at: number): number => Math.floor(at / SECOND_MS) * SECOND_MS;
  const expires = wholeSeconds(Math.min(until, now + MAX_LIFETIME_MS));
  return expires <= now ? undefined : { accessibleAt: wholeSeconds(now), expires };
};

/** A download's content type follows from the object's name, whatever type the upload had. */
const contentTypeOf = (path: ObjectPath): string => mime.getType(path) ?? "application/octet-stream";

/** The client reports a signing error as a message without a code, after its own retries of transient errors. */
const refusedSignature = (logger: Logger, error: unknown): Unavailable => {
  logger.error("signing a URL failed; check the permission iam.serviceAccounts.signBlob", { error });
  return unavailable("Google Cloud cannot sign URLs at the moment.", 30, error);
};

export const signedGrant = async (
  { storage, clock, logger }: VolumeStoreDeps,
  action: "read" | "write",
  { id }: StoredVolume,
  path: ObjectPath,
  until: Instant,
): Promise<Result<Grant, Unavailable>> => {
  const lifetime = lifetimeOf(millisOf(clock.now()), millisOf(until));
  const file = (await storage()).bucket(id).file(path);
  // An unsigned URL grants nothing: no bucket is public.
  if (lifetime === undefined) return ok({ url: file.publicUrl(), expiresAt: until });
  const response = action === "read" ? { responseType: contentTypeOf(path) } : {};
  try {
    const [url] = await file.getSignedUrl({ version: "v4", action, ...lifetime, ...response });
    return ok({ url, expiresAt: instantOfMillis(lifetime.expires) });
  } catch (error) {
    return err(refusedSignature(logger, error));
  }
};
