/**
 * A fake ECR repository that maps tags to images, written from the model of client-ecr. The same image under several
 * tags is one image, which keeps the time of its first push.
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

const tagIn = (reference: string): string => reference.slice(reference.lastIndexOf(":") + 1);

export const startFakeRegistry = async (repository = "portside") => {
  const faults = new Faults();
  /** The engine's image name by reference. */
  const images = new Map<string, string>();
  /** Seconds since 1970 of the first push, by the engine's image name. */
  const pushedAt = new Map<string, number>();
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
          return { repositoryName, imageTags, imagePushedAt };
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
        const imageDigest = `sha256:${createHash("sha256").update(image).digest("hex")}`;
        return { registryId: ACCOUNT, repositoryName, imageTags: [imageTag], imageDigest };
      });
      return { imageDetails };
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
    clear: (): void => {
      for (const all of [images, pushedAt]) all.clear();
    },
    tags: (): string[] => [...images.keys()].map(tagIn).sort(),
    resolve: (reference: string): string | undefined => images.get(reference),
    close: async () => {
      client.destroy();
      await server.close();
    },
  };
};
