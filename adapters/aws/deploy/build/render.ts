/**
 * Renders a source as a CodeBuild request: with Docker if it has a Dockerfile, otherwise with buildpacks. Pure.
 * https://docs.aws.amazon.com/codebuild/latest/APIReference/API_StartBuild.html,
 * https://docs.aws.amazon.com/codebuild/latest/userguide/build-spec-ref.html
 */
import type { StartBuildCommandInput } from "@aws-sdk/client-codebuild";
import { BUILDPACKS_BUILDER } from "../../../cloud/deploy/build/buildpacks.ts";
import type { RemoteBuild } from "../../../cloud/deploy/build/remote-builder.ts";
import type { SharedResources } from "../../config.ts";
import { sourceKeyOf } from "./names.ts";

/** Time limit of a build. CodeBuild enforces it even if no process watches the build. */
const BUILD_MINUTES = 30;

const SOURCE_FOLDER = "/tmp/source";

/**
 * Runs before the login, so Docker's builder has no credentials. Therefore, a Dockerfile cannot pull another account's
 * image from the repository.
 */
const DOCKER_BUILD = 'docker build --tag "$IMAGE" "$SOURCE_FOLDER"';

/**
 * Runs `pack` from CodeBuild's image, without the variables that lead to the build's credentials. Refers to the builder
 * by its digest, because `pack` trusts certain builders by name. With a trusted builder, it would run the source's code
 * in a container that has Docker's socket (docs/decisions/0034-builds-on-codebuild.md).
 */
const packBuild = (variables: readonly string[]): string =>
  [
    `BUILDER="$(docker image inspect --format '{{index .RepoDigests 0}}' ${BUILDPACKS_BUILDER})" &&`,
    // Without a key, `pack` warns that builds do not share a cache. Each build runs on a new machine anyway.
    'env -i PATH="$PATH" HOME="$HOME" PACK_VOLUME_KEY=none pack build "$IMAGE"',
    '--builder "$BUILDER" --lifecycle-image "$BUILDER" --path "$SOURCE_FOLDER"',
    ...variables.map((name) => `--env "${name}=$${name}"`),
  ].join(" ");

/**
 * Returns JSON, which is valid YAML. The commands contain no names of accounts or deployments, and no text from the
 * source.
 */
export const buildspecOf = (by: RemoteBuild["by"]): string => {
  const isPack = by.kind === "buildpacks";
  return JSON.stringify({
    version: 0.2,
    env: { shell: "bash" },
    phases: {
      ...(isPack ? { install: { commands: [`docker pull --quiet ${BUILDPACKS_BUILDER}`] } } : {}),
      pre_build: {
        commands: [
          // The build fetches the source itself: CodeBuild unpacks only zip files (ProjectSource.location).
          'set -o pipefail; mkdir -p "$SOURCE_FOLDER" && aws s3 cp "s3://$SOURCE_BUCKET/$SOURCE_KEY" - | tar -xz -C "$SOURCE_FOLDER"',
        ],
      },
      // Without `on-failure`, the next phase runs even if this phase fails.
      build: { "on-failure": "ABORT", commands: [isPack ? packBuild(Object.keys(by.environment)) : DOCKER_BUILD] },
      post_build: {
        commands: [
          'aws ecr get-login-password | docker login --username AWS --password-stdin "$REGISTRY"',
          'docker push "$IMAGE"',
        ],
      },
    },
  });
};

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
    SOURCE_FOLDER,
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
    // Docker requires a privileged container.
    privilegedModeOverride: true,
    timeoutInMinutesOverride: BUILD_MINUTES,
    queuedTimeoutInMinutesOverride: BUILD_MINUTES,
    idempotencyToken: mark,
  };
};
