/**
 * Renders a source as a Cloud Build request: with Docker if it has a Dockerfile, otherwise with Google's buildpacks.
 * Pure functions. Sources: google/devtools/cloudbuild/v1/cloudbuild.proto,
 * https://docs.cloud.google.com/docs/buildpacks/build-application
 */
import type { protos } from "@google-cloud/cloudbuild";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { BUILDPACKS_BUILDER } from "../../../cloud/deploy/build/buildpacks.ts";
import type { RemoteBuild } from "../../../cloud/deploy/build/remote-builder.ts";
import { OWNER_LABEL } from "../../../cloud/deploy/labels.ts";
import { accountDigest } from "../../../shared/accounts/account-digest.ts";
import type { GcpConfig } from "../../config.ts";
import { imageOf, logsBucketOf, sourceObjectOf } from "./names.ts";

type CloudBuild = typeof protos.google.devtools.cloudbuild.v1;
export type Build = Parameters<CloudBuild["Build"]["create"]>[0] & object;
type BuildStep = NonNullable<Build["steps"]>[number];

/** Time limit of a build. Cloud Build enforces it, so it also ends builds that no process watches. */
const BUILD_SECONDS = 30 * 60;

/**
 * Cloud Build substitutes `$NAME` in arguments, so `$` must be doubled:
 * https://docs.cloud.google.com/build/docs/build-config-file-schema#substitutions
 */
const variablesOf = (environment: Readonly<Record<string, string>>): string[] =>
  Object.entries(environment).flatMap(([name, value]) => ["--env", `${name}=${value.replaceAll("$", "$$$$")}`]);

/**
 * The image with `pack` from Google's documentation. It has no tags for versions of `pack`; Google's own builds pulled
 * this digest as `latest` from June to December 2025.
 */
const PACK = "gcr.io/k8s-skaffold/pack@sha256:221c0c0d9a90f46f108bb888a1da9e99c82ff631e8b1c63b0223ea951752bd53";

/**
 * The builder is also the lifecycle image, as on AWS (docs/decisions/0034-builds-on-codebuild.md). For an untrusted
 * builder, `pack` would otherwise pull a lifecycle image from Docker Hub, whose pull limit applies to addresses that
 * Cloud Build's users share.
 */
const PACK_BUILD = ["--builder", BUILDPACKS_BUILDER, "--lifecycle-image", BUILDPACKS_BUILDER];

/**
 * No step uses the network `cloudbuild`, which exposes the build identity's credentials: a build runs the source's
 * untrusted code. https://docs.cloud.google.com/build/docs/build-config-file-schema#network
 */
const stepOf = (image: string, by: RemoteBuild["by"]): BuildStep =>
  by.kind === "dockerfile"
    ? {
        name: "gcr.io/cloud-builders/docker",
        args: ["build", "--tag", image, "."],
        // `RUN --mount` needs BuildKit: https://github.com/google-github-actions/setup-gcloud/issues/658
        env: ["DOCKER_BUILDKIT=1"],
      }
    : {
        name: PACK,
        entrypoint: "pack",
        args: ["build", image, ...PACK_BUILD, ...variablesOf(by.environment)],
      };

export interface BuildSource {
  readonly owner: AccountId;
  readonly digest: string;
  readonly by: RemoteBuild["by"];
}

/** @param mark identifies this attempt, so that its build can be found if the response is lost */
export const renderBuild = (
  config: Pick<GcpConfig, "project" | "region" | "repository" | "stagingBucket" | "buildIdentity">,
  { owner, digest, by }: BuildSource,
  mark: string,
): Build => {
  const image = imageOf(config, owner, digest);
  return {
    source: { storageSource: { bucket: config.stagingBucket, object: sourceObjectOf(owner, digest) } },
    steps: [stepOf(image, by)],
    images: [image],
    timeout: { seconds: BUILD_SECONDS },
    queueTtl: { seconds: BUILD_SECONDS },
    serviceAccount: `projects/${config.project}/serviceAccounts/${config.buildIdentity}`,
    // With a custom identity, logs go to a custom bucket or to Cloud Logging. Cloud Logging "will not allow logs
    // streaming" (LoggingMode), and the whole project shares its 60 reads a minute.
    logsBucket: logsBucketOf(config),
    options: { logging: "GCS_ONLY", logStreamingOption: "STREAM_ON" },
    tags: ["portside", mark, `${OWNER_LABEL}-${accountDigest(owner)}`],
  };
};
