/**
 * Signed URLs (V4) of Cloud Storage. The credentials' own key signs them; without a key, IAM's signBlob does. The
 * service account then needs `roles/iam.serviceAccountTokenCreator` on itself.
 * https://cloud.google.com/storage/docs/access-control/signed-urls
 */
import { instantOfMillis, millisOf } from "../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { Logger } from "../../../core/ports/system.ts";
import type { Grant } from "../../../core/ports/volume-store.ts";
import { err, ok, type Result, ResultAsync } from "../../../core/result.ts";
import type { SignUrl } from "../../cloud/volumes/driver.ts";
import type { VolumeStoreDeps } from "./volume-call.ts";

/**
 * Maximum lifetime of a URL that IAM signs; with a service account's own key it is seven days:
 * https://cloud.google.com/storage/docs/access-control/signed-urls-v4-limits
 */
const MAX_LIFETIME_MS = 12 * 3_600_000;

const SECOND_MS = 1000;

/** Rounds down to seconds, so that the URL does not outlive `until`. Returns undefined if `until` has passed. */
export const lifetimeOf = (now: number, until: number): { accessibleAt: number; expires: number } | undefined => {
  const wholeSeconds = (at: number): number => Math.floor(at / SECOND_MS) * SECOND_MS;
  const expires = wholeSeconds(Math.min(until, now + MAX_LIFETIME_MS));
  return expires <= now ? undefined : { accessibleAt: wholeSeconds(now), expires };
};

/** The client has already retried transient errors. Its signing errors have no code. */
export const refusedSignature = (logger: Logger, error: unknown): Unavailable => {
  logger.error("signing a URL failed; check the permission iam.serviceAccounts.signBlob", { error });
  return unavailable("Google Cloud cannot sign URLs at the moment.", 30, error);
};

export const signUrl =
  ({ storage, clock, logger }: VolumeStoreDeps): SignUrl =>
  ({ id }, path, until, contentType) => {
    const signed = async (): Promise<Result<Grant, Unavailable>> => {
      const lifetime = lifetimeOf(millisOf(clock.now()), millisOf(until));
      const file = (await storage()).bucket(id).file(path);
      // An unsigned URL grants nothing: no bucket is public.
      if (lifetime === undefined) return ok({ url: file.publicUrl(), expiresAt: until });
      const access =
        contentType === undefined
          ? ({ action: "write" } as const)
          : ({ action: "read", responseType: contentType } as const);
      try {
        const [url] = await file.getSignedUrl({ version: "v4", ...access, ...lifetime });
        return ok({ url, expiresAt: instantOfMillis(lifetime.expires) });
      } catch (error) {
        return err(refusedSignature(logger, error));
      }
    };
    return new ResultAsync(signed());
  };

/** All URLs have the host of the client's endpoint, because they are path-style. */
export const grantOrigins =
  ({ storage }: VolumeStoreDeps) =>
  (): ResultAsync<readonly string[], Unavailable> =>
    ResultAsync.fromSafePromise(storage().then(({ apiEndpoint }) => [new URL(apiEndpoint).origin]));
