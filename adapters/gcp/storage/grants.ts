/**
 * Signed URLs (V4), which lead to the storage itself. They are signed with the credentials' own key where there is one,
 * else by IAM's signBlob, which takes `roles/iam.serviceAccountTokenCreator` of the service account on itself.
 * https://cloud.google.com/storage/docs/access-control/signed-urls
 */
import type { GetSignedUrlConfig } from "@google-cloud/storage";
import mime from "mime";
import { type Instant, instantOfMillis, millisOf } from "../../../core/domain/instant.ts";
import type { ObjectPath } from "../../../core/domain/object-path.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { Clock, Logger } from "../../../core/ports/system.ts";
import type { Grant, StoredVolume } from "../../../core/ports/volume-store.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import type { StorageApi } from "./api.ts";

/**
 * IAM's keys sign for so long at most, a key of one's own for seven days:
 * https://cloud.google.com/storage/docs/access-control/signed-urls-v4-limits
 */
const LONGEST_MS = 12 * 3_600_000;

const SECOND_MS = 1000;

/** Whole seconds, so that the URL ends no later than asked for; undefined for a moment that has passed. */
const spanOf = (now: number, until: number): { accessibleAt: number; expires: number } | undefined => {
  const [start, end] = [now, Math.min(until, now + LONGEST_MS)].map((at) => Math.floor(at / SECOND_MS) * SECOND_MS);
  return start === undefined || end === undefined || end <= now ? undefined : { accessibleAt: start, expires: end };
};

/** A download says what its name says that it is, whatever it was put as. */
const kindOf = (path: ObjectPath): string => mime.getType(path) ?? "application/octet-stream";

/** The client keeps the message of what went wrong with a signature, and no code; it has repeated what may pass. */
const refusedSignature = (logger: Logger, error: unknown): Unavailable => {
  logger.error("A URL could not be signed: look at the credentials' right iam.serviceAccounts.signBlob", { error });
  return unavailable("Google Cloud does not sign URLs for this platform now.", 30, error);
};

export const signedGrant = async (
  api: StorageApi,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
  action: "read" | "write",
  { id }: StoredVolume,
  path: ObjectPath,
  until: Instant,
): Promise<Result<Grant, Unavailable>> => {
  const span = spanOf(millisOf(clock.now()), millisOf(until));
  const file = (await api.storage()).bucket(id).file(path);
  // Without a signature it has no right to anything: no bucket is open to the public.
  if (span === undefined) return ok({ url: file.publicUrl(), expiresAt: until });
  const config: GetSignedUrlConfig = {
    version: "v4",
    action,
    ...span,
    ...(action === "read" ? { responseType: kindOf(path) } : {}),
  };
  try {
    const [url] = await file.getSignedUrl(config);
    return ok({ url, expiresAt: instantOfMillis(span.expires) });
  } catch (error) {
    return err(refusedSignature(logger, error));
  }
};
