/**
 * Renders a source as a CodeBuild request: with Docker if it has a Dockerfile, otherwise with buildpacks. Pure.
 * https://docs.aws.amazon.com/codebuild/latest/APIReference/API_StartBuild.html,
 * https://docs.aws.amazon.com/codebuild/latest/userguide/build-spec-ref.html
 */
import type { StartBuildCommandInput } from "@aws-sdk/client-codebuild";
import { BUILDPACKS_BUILDER } from "../../../shared/deploy/buildpacks.ts";
import type { RemoteBuild } from "../../../shared/deploy/remote-builder.ts";
import type { SharedResources } from "../../config.ts";
import { sourceKeyOf } from "./names.ts";

/** Time limit of a build. CodeBuild enforces it, so it also ends builds that no process watches. */
const BUILD_MINUTES = 30;

const FOLDER = "/tmp/source";
const PACK = "buildpacksio/pack:0.38.2";
const SOCKET = "/var/run/docker.sock";

/** The source's build steps run in a Docker container, without the variables that lead to the build's credentials. */
const buildCommand = (by: RemoteBuild["by"]): string => {
  if (by.kind === "dockerfile") return `docker build --tag "$IMAGE" ${FOLDER}`;
  const variables = Object.keys(by.environment).map((name) => ` --env "${name}=$${name}"`);
  return `docker run --rm -v ${SOCKET}:${SOCKET} -v ${FOLDER}:/workspace ${PACK} build "$IMAGE" --builder ${BUILDPACKS_BUILDER} --path /workspace${variables.join("")}`;
};

/** JSON, which is valid YAML. The commands contain no names of accounts or deployments, and no text of the source. */
export const buildspecOf = (by: RemoteBuild["by"]): string =>
  JSON.stringify({
    version: 0.2,
    env: { shell: "bash" },
    phases: {
      pre_build: {
        commands: [
          // The build fetches the source itself: CodeBuild unpacks only zip files (ProjectSource.location).
          `set -o pipefail; mkdir -p ${FOLDER} && aws s3 cp "s3://$SOURCE_BUCKET/$SOURCE_KEY" - | tar -xz -C ${FOLDER}`,
          'set -o pipefail; aws ecr get-login-password | docker login --username AWS --password-stdin "$REGISTRY"',
        ],
      },
      // Without this, the next phase runs even if this one fails.
      build: { "on-failure": "ABORT", commands: [buildCommand(by)] },
      post_build: { commands: ['docker push "$IMAGE"'] },
    },
  });

const environmentOf = (by: RemoteBuild["by"]) => (by.kind === "buildpacks" ? by.environment : {});

export const renderBuild = (
  { buildProject, stateBucket }: Pick<SharedResources, "buildProject" | "stateBucket">,
  { request: { owner, source }, image, by, mark }: RemoteBuild,
): StartBuildCommandInput => {
  const [registry = ""] = image.split("/");
  const key = sourceKeyOf(owner, source.digest);
  const variables = {
    SOURCE_BUCKET: stateBucket,
    SOURCE_KEY: key,
    IMAGE: image,
    REGISTRY: registry,
    ...environmentOf(by),
  };
  return {
    projectName: buildProject,
    sourceTypeOverride: "NO_SOURCE",
    buildspecOverride: buildspecOf(by),
    environmentVariablesOverride: Object.entries(variables).map(([name, value]) => ({
      name,
      value,
      type: "PLAINTEXT",
    })),
    artifactsOverride: { type: "NO_ARTIFACTS" },
    // Docker requires this.
    privilegedModeOverride: true,
    timeoutInMinutesOverride: BUILD_MINUTES,
    queuedTimeoutInMinutesOverride: BUILD_MINUTES,
    idempotencyToken: mark,
  };
};
