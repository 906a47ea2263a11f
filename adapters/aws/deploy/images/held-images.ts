/**
 * Keeps clean-ups from removing the images of rollouts. A template refers to its image by digest, or by a tag that
 * contains the digests of the account and of the image. The tag with both digests is necessary, because a second build
 * of the same source moves the source's tag to the new image, and an image without a tag expires
 * (docs/providers/aws-template.yaml). https://docs.aws.amazon.com/AmazonECR/latest/userguide/image-retag.html
 */
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { Unavailable } from "../../../../core/errors.ts";
import { err, ok, type ResultAsync, safeTry } from "../../../../core/result.ts";
import { isCallState } from "../../../cloud/calls/provider-call.ts";
import {
  type AwsRuntimeDeps,
  awsCalls,
  commandSender,
  nameOf,
  type RetryOptions,
  throwState,
} from "../../call-policy.ts";
import type { ClientSource } from "../../clients.ts";
import type { SharedResources } from "../../config.ts";
import { stateBucket } from "../../state/state-bucket.ts";
import { createImageMarks } from "./image-marks.ts";
import { type ImageId, imageIdOf, keepTagOf } from "./references.ts";

export interface HeldImages {
  /**
   * Gives the account's image a tag that contains its digest, and returns the reference with this tag. Returns the
   * reference unchanged if the image does not exist.
   */
  pin(owner: AccountId, image: string, retry?: RetryOptions): ResultAsync<string, Unavailable>;
  /** Protects the account's image from clean-ups. Returns false if the image does not exist. */
  hold(owner: AccountId, image: string, retry?: RetryOptions): ResultAsync<boolean, Unavailable>;
  /**
   * Returns the images that exist. Assumes that every image not built by Portside exists. The caller must pass at most
   * 100 images.
   */
  existing(images: readonly string[], retry?: RetryOptions): ResultAsync<ReadonlySet<string>, Unavailable>;
}

export const createHeldImages = (
  shared: Pick<SharedResources, "repository" | "stateBucket">,
  clients: ClientSource,
  runtime: AwsRuntimeDeps,
): HeldImages => {
  const { repository: repositoryName } = shared;
  const call = awsCalls(runtime);
  const ecr = commandSender("registry", "ecr", clients, call);
  const marks = createImageMarks(stateBucket(shared.stateBucket, clients, call), runtime.clock);

  const get = (imageIds: ImageId[], retry: RetryOptions) =>
    ecr("BatchGetImageCommand", { repositoryName, imageIds }, retry).mapErr(throwState);

  /** Adds the tag to the image with this manifest. */
  const addTag = (
    imageTag: string,
    imageManifest: string,
    imageManifestMediaType: string | undefined,
    retry: RetryOptions,
  ): ResultAsync<void, Unavailable> =>
    ecr("PutImageCommand", { repositoryName, imageTag, imageManifest, imageManifestMediaType }, retry)
      .map(() => undefined)
      // The image already has the tag (PutImage).
      .orElse((error) =>
        isCallState(error) && nameOf(error.error) === "ImageAlreadyExistsException"
          ? ok(undefined)
          : err(throwState(error)),
      );

  return {
    pin: (owner, image, retry = {}) =>
      safeTry(async function* () {
        const id = imageIdOf(image);
        if (id === undefined || !("imageTag" in id)) return ok(image);
        const { images = [] } = yield* await get([id], retry);
        const { imageId, imageManifest, imageManifestMediaType } = images[0] ?? {};
        if (imageId?.imageDigest === undefined || imageManifest === undefined) return ok(image);
        const tag = keepTagOf(owner, imageId.imageDigest);
        yield* await marks.use(tag, retry);
        yield* await addTag(tag, imageManifest, imageManifestMediaType, retry);
        return ok(image.slice(0, -id.imageTag.length) + tag);
      }),

    hold: (owner, image, retry = {}) =>
      safeTry(async function* () {
        const id = imageIdOf(image);
        if (id === undefined) return ok(true);
        const tag = "imageTag" in id ? id.imageTag : keepTagOf(owner, id.imageDigest);
        // Mark the image before the read. Otherwise, a removal could delete the image after the read.
        yield* await marks.use(tag, retry);
        const { images = [] } = yield* await get([id], retry);
        const [found] = images;
        if (found === undefined) return ok(false);
        if ("imageDigest" in id && found.imageManifest !== undefined)
          yield* await addTag(tag, found.imageManifest, found.imageManifestMediaType, retry);
        return ok(true);
      }),

    existing: (images, retry = {}) =>
      safeTry(async function* () {
        const ids = new Map(images.map((image) => [image, imageIdOf(image)]));
        const imageIds = [...ids.values()].flatMap((id) => id ?? []);
        const { failures = [] } = imageIds.length === 0 ? {} : yield* await get(imageIds, retry);
        const gone = new Set(
          failures
            .filter(({ failureCode }) => failureCode === "ImageNotFound")
            .map(({ imageId }) => imageId?.imageDigest ?? imageId?.imageTag),
        );
        const exists = (id: ImageId | undefined) =>
          id === undefined || !gone.has("imageTag" in id ? id.imageTag : id.imageDigest);
        return ok(new Set(images.filter((image) => exists(ids.get(image)))));
      }),
  };
};
