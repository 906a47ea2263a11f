/**
 * A source as Cloud Build's request: with Docker where it has a Dockerfile, else with Google's buildpacks. Pure.
 * google/devtools/cloudbuild/v1/cloudbuild.proto; https://docs.cloud.google.com/docs/buildpacks/build-application
 */
import type { protos } from "@google-cloud/cloudbuild";
import type { AccountId } from "../../../core/domain/account.ts";
import { accountDigest } from "../../shared/account-digest.ts";
import { BUILDPACKS_BUILDER } from "../../shared/buildpacks.ts";
import { OWNER_LABEL } from "../../shared/labels.ts";
import type { GcpConfig } from "../config.ts";
import { imageOf, logsBucketOf, sourceObjectOf } from "./names.ts";

type CloudBuild = typeof protos.google.devtools.cloudbuild.v1;
export type Build = Parameters<CloudBuild["Build"]["create"]>[0] & object;
type BuildStep = NonNullable<Build["steps"]>[number];

/** Clouds build for 30 minutes at most; this ends what nobody watches any more. */
const BUILD_SECONDS = 30 * 60;

/**
 * Neither step gets the network `cloudbuild`, on which the build identity's credentials are to be had: what a source
 * runs while it is built is not ours.
 */
const stepOf = (image: string, hasDockerfile: boolean): BuildStep =>
  hasDockerfile
    ? { name: "gcr.io/cloud-builders/docker", args: ["build", "--tag", image, "."] }
    : {
        name: "gcr.io/k8s-skaffold/pack",
        entrypoint: "pack",
        args: ["build", image, "--builder", BUILDPACKS_BUILDER],
      };

export interface BuildSource {
  readonly owner: AccountId;
  readonly digest: string;
  readonly hasDockerfile: boolean;
}

/** @param mark names this attempt among all builds, so that one whose answer was lost is found again */
export const renderBuild = (
  config: Pick<GcpConfig, "project" | "region" | "repository" | "stagingBucket" | "buildIdentity">,
  { owner, digest, hasDockerfile }: BuildSource,
  mark: string,
): Build => {
  const image = imageOf(config, owner, digest);
  return {
    source: { storageSource: { bucket: config.stagingBucket, object: sourceObjectOf(owner, digest) } },
    steps: [stepOf(image, hasDockerfile)],
    images: [image],
    timeout: { seconds: BUILD_SECONDS },
    queueTtl: { seconds: BUILD_SECONDS },
    serviceAccount: `projects/${config.project}/serviceAccounts/${config.buildIdentity}`,
    // With an identity of one's own logs go to a bucket of one's own or to Cloud Logging, which "will not allow
    // logs streaming" (LoggingMode) and whose reads a whole project shares, 60 a minute.
    logsBucket: logsBucketOf(config),
    options: { logging: "GCS_ONLY", logStreamingOption: "STREAM_ON" },
    tags: ["portside", mark, `${OWNER_LABEL}-${accountDigest(owner)}`],
  };
};
