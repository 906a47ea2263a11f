/**
 * Removes images that no deployment uses. The records of deployments name the images that serve or may serve again, and
 * the images of kept releases. Keeps every tag that does not have the form of Portside's tags (two digests).
 */
import { millisOf } from "../../../../core/domain/wire/instant.ts";
import type { Unavailable } from "../../../../core/errors.ts";
import type { BuildEvent, ImageBuilder } from "../../../../core/ports/image-builder.ts";
import { ok, type ResultAsync, safeTry } from "../../../../core/result.ts";
import { inParallel } from "../../../cloud/calls/in-parallel.ts";
import { type AwsRuntimeDeps, awsCalls, commandSender, type RetryOptions, throwState } from "../../call-policy.ts";
import type { ClientSource } from "../../clients.ts";
import type { AwsConfig } from "../../config.ts";
import { failureOfUnavailable } from "../../failures.ts";
import { stateBucket } from "../../state/state-bucket.ts";
import { tagOf } from "../build/names.ts";
import { nameInKey, RECORDS } from "../records/records.ts";
import { createHeldImages } from "./held-images.ts";
import { createImageMarks } from "./image-marks.ts";
import { imagesIn, isOwnTag } from "./references.ts";

const DAY_MS = 86_400_000;
/** Maximum concurrent reads. */
const CONCURRENCY = 20;
const REMOVE_TIMEOUT_MS = 20_000;

interface PushedImage {
  readonly imageDigest?: string | undefined;
  readonly imageTags?: readonly string[] | undefined;
  readonly imagePushedAt?: Date | undefined;
}

interface OldTag {
  readonly tag: string;
  readonly imageDigest: string;
}

/** Returns Portside's tags of images that were pushed by `cutoff`, in milliseconds since 1970. */
const oldTags = (images: readonly PushedImage[], cutoff: number): readonly OldTag[] =>
  images.flatMap(({ imageDigest = "", imageTags = [], imagePushedAt }) =>
    imagePushedAt !== undefined && imagePushedAt.getTime() <= cutoff
      ? imageTags.filter(isOwnTag).map((tag) => ({ tag, imageDigest }))
      : [],
  );

export interface ImageRetention {
  /**
   * Returns a builder that protects the images of its deploys, and refers to them by a tag that no later build moves.
   * A build also starts the removal of unused images, at most once a day.
   */
  keepUsed(builder: ImageBuilder): ImageBuilder;
  /** Removes the tags of unused images now. Returns the number of tags. */
  sweep(retry?: RetryOptions): ResultAsync<number, Unavailable>;
  /** Waits until no removal runs in the background. */
  idle(): Promise<void>;
}

export const createImageRetention = (
  { shared, imageRetentionDays, releasesKept }: Pick<AwsConfig, "shared" | "imageRetentionDays" | "releasesKept">,
  clients: ClientSource,
  runtime: AwsRuntimeDeps,
): ImageRetention => {
  const { clock, logger } = runtime;
  const call = awsCalls(runtime);
  const ecr = commandSender("registry", "ecr", clients, call);
  const bucket = stateBucket(shared.stateBucket, clients, call);
  const marks = createImageMarks(bucket, clock);
  const held = createHeldImages(shared, clients, runtime);
  const { repository: repositoryName } = shared;
  const now = (): number => millisOf(clock.now());

  const listOld = (cutoff: number, retry: RetryOptions): ResultAsync<readonly OldTag[], Unavailable> =>
    safeTry(async function* () {
      const tags: OldTag[] = [];
      let nextToken: string | undefined;
      do {
        const input = { repositoryName, maxResults: 1000, nextToken, filter: { tagStatus: "TAGGED" as const } };
        const page = yield* await ecr("DescribeImagesCommand", input, retry).mapErr(throwState);
        tags.push(...oldTags(page.imageDetails ?? [], cutoff));
        nextToken = page.nextToken;
      } while (nextToken !== undefined);
      return ok(tags);
    });

  /** Returns the tags and digests of the images that deployments need. */
  const listUsed = (retry: RetryOptions): ResultAsync<ReadonlySet<string>, Unavailable> =>
    safeTry(async function* () {
      const records = yield* await bucket.list(RECORDS, retry);
      const used = yield* await inParallel(records, CONCURRENCY, ({ key }) =>
        bucket.get(key, retry).map((record) => imagesIn(nameInKey(key), record?.text ?? "", releasesKept)),
      );
      return ok(new Set(used.flat()));
    });

  /** Removes only the tag, because several accounts may share the image. ECR removes an image with its last tag. */
  const remove = (imageTag: string, { signal }: RetryOptions): ResultAsync<void, Unavailable> =>
    ecr(
      "BatchDeleteImageCommand",
      { repositoryName, imageIds: [{ imageTag }] },
      { timeoutMs: REMOVE_TIMEOUT_MS, signal },
    )
      .andTee(({ failures = [] }) => {
        for (const { failureCode, failureReason } of failures)
          logger.warn("an unused image was not removed", { imageTag, failureCode, failureReason });
      })
      .map(() => undefined)
      .mapErr(throwState);

  const sweep = (retry: RetryOptions = {}): ResultAsync<number, Unavailable> =>
    safeTry(async function* () {
      const cutoff = now() - imageRetentionDays * DAY_MS;
      const old = yield* await listOld(cutoff, retry);
      if (old.length === 0) return ok(0);
      const used = yield* await listUsed(retry);
      let removed = 0;
      for (const { tag, imageDigest } of old) {
        if (used.has(tag) || used.has(imageDigest)) continue;
        if (yield* await marks.removeUnused(tag, cutoff, () => remove(tag, retry), retry)) removed++;
      }
      return ok(removed);
    });

  let sweptAt = Number.NEGATIVE_INFINITY;
  let sweeping: Promise<void> = Promise.resolve();
  const sweepDaily = (): void => {
    if (now() - sweptAt < DAY_MS) return;
    sweptAt = now();
    sweeping = sweep().match(
      (count) => {
        if (count > 0) logger.info("removed unused images", { count });
      },
      (error) => logger.warn("unused images were not removed; the first build after a day retries it", { error }),
    );
  };

  return {
    sweep,
    idle: () => sweeping,
    keepUsed: (builder) => ({
      async *build(request, options = {}) {
        sweepDaily();
        const used = await marks.use(tagOf(request.owner, request.source.digest), options);
        if (used.isErr() && options.signal?.aborted !== true) {
          yield { kind: "failed", failure: failureOfUnavailable(used.error) };
          return;
        }
        for await (const event of builder.build(request, options)) {
          if (event.kind === "built")
            yield await held.pin(request.owner, event.image, options).match(
              (image): BuildEvent => ({ kind: "built", image }),
              (error) => ({ kind: "failed", failure: failureOfUnavailable(error) }),
            );
          else yield event;
        }
      },
    }),
  };
};
