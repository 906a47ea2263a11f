/** A fake ECR repository that maps tags to images, written from the model of client-ecr. */
import { createHash } from "node:crypto";
import { ECRClient } from "@aws-sdk/client-ecr";
import { Faults } from "../../faults.ts";
import { clientOptions, jsonProtocol, type Message } from "../protocols.ts";
import { recorded } from "../requests/recorder.ts";
import { AwsError, serveAws } from "../server.ts";
import { ACCOUNT, REGION } from "../test-config.ts";

const HOST = `${ACCOUNT}.dkr.ecr.${REGION}.amazonaws.com`;

/** "Tag: up to 128 characters": userguide/image-push, and the Docker registry's rule for tags. */
const TAG = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;

export const startFakeRegistry = async (repository = "portside") => {
  const faults = new Faults();
  /** The engine's image name by reference. */
  const images = new Map<string, string>();
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
    DescribeImages: ({ repositoryName, imageIds }: Message) => {
      check(repositoryName);
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
  };
  const server = await serveAws(faults, jsonProtocol(methods));
  const client = recorded("registry", new ECRClient(clientOptions(server.endpoint)));
  return {
    faults,
    client,
    uri: `${HOST}/${repository}`,
    push: (reference: string, engineImage: string): void => void images.set(reference, engineImage),
    resolve: (reference: string): string | undefined => images.get(reference),
    close: async () => {
      client.destroy();
      await server.close();
    },
  };
};
