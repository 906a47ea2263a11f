/**
 * Creates presigned S3 URLs (Signature Version 4) without a request to AWS. A URL expires with the credentials that
 * signed it, even before its own expiry:
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-presigned-url.html#who-presigned-url
 */
import type {
  CompleteMultipartUploadCommand,
  GetObjectCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { type Instant, instantOfMillis, millisOf } from "../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { Clock } from "../../../core/ports/system.ts";
import { err, ok, type Result, ResultAsync } from "../../../core/result.ts";
import { isCallState, type ProviderCall } from "../../cloud/calls/provider-call.ts";

const load = () => import("@aws-sdk/s3-request-presigner");
type GetSignedUrl = Awaited<ReturnType<typeof load>>["getSignedUrl"];
type SigningClient = Parameters<GetSignedUrl>[0];
type AnyCommand = Parameters<GetSignedUrl>[1];
export type Signable = GetObjectCommand | PutObjectCommand | UploadPartCommand | CompleteMultipartUploadCommand;

const SECOND_MS = 1000;
/**
 * Maximum lifetime of a URL, seven days: https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
 */
const MAX_LIFETIME_MS = 604_800_000;
const HOUR_MS = 3_600_000;

export interface SignerDeps {
  readonly client: () => Promise<S3Client>;
  readonly call: ProviderCall;
  readonly clock: Clock;
}

/** A validity period for URLs. */
export interface SigningPeriod {
  readonly expiresAt: Instant;
  sign(command: Signable): Promise<string>;
}

const wholeSeconds = (millis: number): number => Math.floor(millis / SECOND_MS) * SECOND_MS;

/**
 * Returns the client without default checksums. Otherwise, the URL would include the checksum of an empty body, and S3
 * would reject every upload as corrupt.
 */
const withoutChecksums = ({ config, middlewareStack }: S3Client): SigningClient => {
  const signing = { ...config, requestChecksumCalculation: async () => "WHEN_REQUIRED" };
  return { config: signing, middlewareStack } as unknown as SigningClient;
};

export class Signer {
  readonly #deps: SignerDeps;
  /**
   * Expiry of the credentials that the last refresh returned. While the current credentials have this expiry, a further
   * refresh would not help.
   */
  #renewedExpiry: number | undefined;

  constructor(deps: SignerDeps) {
    this.#deps = deps;
  }

  /** Returns a validity period that ends at the requested time, or when the credentials expire if that is earlier. */
  until(requested: Instant): ResultAsync<SigningPeriod, Unavailable> {
    return new ResultAsync(this.#until(requested));
  }

  async #until(requested: Instant): Promise<Result<SigningPeriod, Unavailable>> {
    const { client: source, clock } = this.#deps;
    const now = millisOf(clock.now());
    const end = Math.min(millisOf(requested), now + MAX_LIFETIME_MS);
    const client = await source();
    const credentials = await this.#credentialsExpiry(client, end);
    if (credentials.isErr()) return err(credentials.error);
    if (credentials.value <= now) return err(unavailable("The platform's AWS credentials have expired.", 60));
    const { getSignedUrl } = await load();
    // Rounded down, so that the URL does not outlive the requested time. A time in the past gives an expired URL.
    const isPast = wholeSeconds(end) <= now;
    const start = wholeSeconds(isPast ? now - HOUR_MS : now);
    const last = isPast ? start + SECOND_MS : wholeSeconds(Math.min(end, credentials.value));
    const expiresIn = (last - start) / SECOND_MS;
    const signingDate = new Date(start);
    const signing = withoutChecksums(client);
    return ok({
      expiresAt: isPast ? requested : instantOfMillis(last),
      sign: (command) => getSignedUrl(signing, command as unknown as AnyCommand, { expiresIn, signingDate }),
    });
  }

  /**
   * Returns the credentials' expiry in milliseconds; infinity if they do not expire. Refreshes them once if they expire
   * before `requested`.
   */
  async #credentialsExpiry({ config }: S3Client, requested: number): Promise<Result<number, Unavailable>> {
    const read = async (forceRefresh: boolean): Promise<Result<number, Unavailable>> => {
      const found = await this.#deps.call({ what: "credentials" }, () => config.credentials({ forceRefresh }));
      if (found.isOk()) return ok(found.value.expiration?.getTime() ?? Number.POSITIVE_INFINITY);
      if (!isCallState(found.error)) return err(found.error);
      return err(unavailable("The platform has no AWS credentials.", 60, found.error.error));
    };
    const present = await read(false);
    if (present.isErr() || present.value >= requested || present.value === this.#renewedExpiry) return present;
    const renewed = await read(true);
    // Some sources issue new credentials only shortly before expiry; the current ones still work.
    if (renewed.isErr()) return present;
    this.#renewedExpiry = renewed.value;
    return renewed;
  }
}
