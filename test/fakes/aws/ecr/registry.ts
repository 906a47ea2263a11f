/**
 * A fake ECR repository that maps tags to images, written from the model of client-ecr. The same image under several
 * tags is one image, which keeps the time of its first push. The digest of an image is the digest of its manifest.
 */
import { createHash } from "node:crypto";
import { ECRClient } from "@aws-sdk/client-ecr";
import { Faults } from "../../faults.ts";
import { clientOptions, jsonProtocol, type Message } from "../protocols.ts";
import { recorded } from "../requests/recorder.ts";
import { AwsError, serveAws } from "../server.ts";
import { ACCOUNT, REGION } from "../test-config.ts";

const HOST = `${ACCOUNT}.dkr.ecr.${REGION}.amazonaws.com`;

/** Images in a page of a list. */
const PAGE = 2;

/** "Tag: up to 128 characters": userguide/image-push, and the Docker registry's rule for tags. */
const TAG = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;

const MEDIA_TYPE = "application/vnd.docker.distribution.manifest.v2+json";

/** The manifest of an image, given the engine's name of the image. */
const manifestOf = (image: string): string =>
  JSON.stringify({ schemaVersion: 2, mediaType: MEDIA_TYPE, config: { digest: image } });

const digestOf = (image: string): string => `sha256:${createHash("sha256").update(manifestOf(image)).digest("hex")}`;

const tagIn = (reference: string): string => reference.slice(reference.lastIndexOf(":") + 1);

export const startFakeRegistry = async (repository = "portside") => {
  const faults = new Faults();
  /** The engine's image name by reference. */
  const images = new Map<string, string>();
  /** Seconds since 1970 of the first push, by the engine's image name. */
  const pushedAt = new Map<string, number>();
  /** Returns the engine's image name; undefined if the repository has no such image. */
  const find = ({ imageTag, imageDigest }: Message): string | undefined =>
    imageDigest === undefined
      ? images.get(`${HOST}/${repository}:${imageTag}`)
      : [...pushedAt.keys()].find((image) => digestOf(image) === imageDigest);
  const check = (name: string): void => {
    if (name !== repository)
      throw new AwsError("RepositoryNotFoundException", `The repository with name '${name}' does not exist`);
  };
  const methods = {
    DescribeRepositories: ({ repositoryNames }: Message) => {
      repositoryNames.forEach(check);
      return {
        repositories: [{ repositoryName: repository, registryId: ACCOUNT, repositoryUri: `${HOST}/${repository}` }],
      };
    },
    DescribeImages: ({ repositoryName, imageIds, nextToken }: Message) => {
      check(repositoryName);
      if (imageIds === undefined) {
        const all = [...pushedAt].map(([image, imagePushedAt]) => {
          const imageTags = [...images].flatMap(([reference, one]) => (one === image ? [tagIn(reference)] : []));
          return { repositoryName, imageDigest: digestOf(image), imageTags, imagePushedAt };
        });
        const from = Number(nextToken ?? 0);
        const next = from + PAGE < all.length ? { nextToken: String(from + PAGE) } : {};
        return { imageDetails: all.slice(from, from + PAGE), ...next };
      }
      const imageDetails = imageIds.map(({ imageTag }: Message) => {
        if (!TAG.test(imageTag)) throw new AwsError("InvalidParameterException", `Invalid tag '${imageTag}'`);
        const image = images.get(`${HOST}/${repository}:${imageTag}`);
        if (image === undefined)
          throw new AwsError(
            "ImageNotFoundException",
            `The image with imageId {imageTag:'${imageTag}'} does not exist`,
          );
        return { registryId: ACCOUNT, repositoryName, imageTags: [imageTag], imageDigest: digestOf(image) };
      });
      return { imageDetails };
    },
    BatchGetImage: ({ repositoryName, imageIds }: Message) => {
      check(repositoryName);
      if (imageIds.length > 100) throw new AwsError("InvalidParameterException", "at most 100 imageIds");
      const failures = imageIds
        .filter((imageId: Message) => find(imageId) === undefined)
        .map((imageId: Message) => ({
          imageId,
          failureCode: "ImageNotFound",
          failureReason: "Requested image not found",
        }));
      const found = imageIds.flatMap((imageId: Message) => {
        const image = find(imageId);
        if (image === undefined) return [];
        const described = { ...imageId, imageDigest: digestOf(image) };
        const imageManifest = manifestOf(image);
        return [
          {
            registryId: ACCOUNT,
            repositoryName,
            imageId: described,
            imageManifest,
            imageManifestMediaType: MEDIA_TYPE,
          },
        ];
      });
      return { images: found, failures };
    },
    // https://docs.aws.amazon.com/AmazonECR/latest/userguide/image-retag.html
    PutImage: ({ repositoryName, imageManifest, imageTag }: Message) => {
      check(repositoryName);
      if (!TAG.test(imageTag)) throw new AwsError("InvalidParameterException", `Invalid tag '${imageTag}'`);
      const image: string = JSON.parse(imageManifest).config.digest;
      if (!pushedAt.has(image))
        throw new AwsError("LayersNotFoundException", "The specified layers could not be found");
      const reference = `${HOST}/${repository}:${imageTag}`;
      if (images.get(reference) === image)
        throw new AwsError(
          "ImageAlreadyExistsException",
          `Image with digest '${digestOf(image)}' and tag '${imageTag}' already exists`,
        );
      images.set(reference, image);
      return { image: { repositoryName, imageId: { imageTag, imageDigest: digestOf(image) }, imageManifest } };
    },
    // "When you remove the last tag from an image, the image is deleted" (BatchDeleteImage).
    BatchDeleteImage: ({ repositoryName, imageIds }: Message) => {
      check(repositoryName);
      const failures = imageIds.flatMap((imageId: Message) => {
        const reference = `${HOST}/${repository}:${imageId.imageTag}`;
        const image = images.get(reference);
        if (image === undefined) return [{ imageId, failureCode: "ImageNotFound", failureReason: "not found" }];
        images.delete(reference);
        if (![...images.values()].includes(image)) pushedAt.delete(image);
        return [];
      });
      return { imageIds, failures };
    },
  };
  const server = await serveAws(faults, jsonProtocol(methods));
  const client = recorded("registry", new ECRClient(clientOptions(server.endpoint)));
  return {
    faults,
    client,
    uri: `${HOST}/${repository}`,
    push: (reference: string, engineImage: string, millis = Date.now()): void => {
      images.set(reference, engineImage);
      if (!pushedAt.has(engineImage)) pushedAt.set(engineImage, millis / 1000);
    },
    /** Removes an image with its tags. */
    remove: (engineImage: string): void => {
      for (const [reference, image] of images) if (image === engineImage) images.delete(reference);
      pushedAt.delete(engineImage);
    },
    clear: (): void => {
      for (const all of [images, pushedAt]) all.clear();
    },
    tags: (): string[] => [...images.keys()].map(tagIn).sort(),
    /** Returns an image's reference by digest. */
    byDigest: (engineImage: string): string => `${HOST}/${repository}@${digestOf(engineImage)}`,
    resolve: (reference: string): string | undefined => {
      const [, imageDigest] = reference.split("@");
      return imageDigest === undefined ? images.get(reference) : find({ imageDigest });
    },
    /** Deletes the images without tags, as the repository's lifecycle policy does after some days. */
    expireUntagged: (): void => {
      for (const image of pushedAt.keys()) if (![...images.values()].includes(image)) pushedAt.delete(image);
    },
    close: async () => {
      client.destroy();
      await server.close();
    },
  };
};
