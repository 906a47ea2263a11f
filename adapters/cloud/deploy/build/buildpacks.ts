/**
 * Computes the buildpack settings for a source, and detects builds that failed because no buildpack supports it. Pure
 * functions.
 */
import type { DeployFailure } from "../../../../core/domain/deploy/reason.ts";
import type { SourceFiles } from "../../../../core/domain/deploy/source/files.ts";
import { planSource, type SourcePlan } from "../../../../core/domain/deploy/source/plan.ts";
import { STATIC_COMMAND } from "../../../shared/deploy/static-site.ts";

/**
 * The message of the buildpacks' detector (https://buildpacks.io). Cloud builds do not report the detector's exit code.
 */
const NOTHING_DETECTED = /No buildpack groups passed detection/;

/**
 * Google's builder. Both clouds use it, so a source builds the same way on both. The tag pins the release of the
 * operating system, unlike `latest`. Google announces no digests, and moves the tag to images with patched build tools:
 * https://docs.cloud.google.com/docs/buildpacks/builders
 */
export const BUILDPACKS_BUILDER = "gcr.io/buildpacks/builder:google-24";

/** Files of languages that only the buildpacks support. For these sources, the buildpacks choose the command. */
const FOREIGN = ["go.mod", "pom.xml", "build.gradle", "build.gradle.kts", "composer.json", "Gemfile", "pubspec.yaml"];

/** Settings for buildpacks. Without a command, buildpacks detect one. */
export interface BuildpackPlan {
  readonly environment: Readonly<Record<string, string>>;
  readonly warnings: readonly string[];
}

const AS_THEY_FIND: BuildpackPlan = { environment: {}, warnings: [] };

/** Returns the build variables: https://docs.cloud.google.com/docs/buildpacks/service-specific-configs */
const environmentOf = (plan: SourcePlan): BuildpackPlan["environment"] => {
  switch (plan.kind) {
    case "static":
      // Selects Node for a source without package.json.
      return { GOOGLE_RUNTIME: "nodejs", GOOGLE_ENTRYPOINT: STATIC_COMMAND };
    case "node":
      // Buildpacks find `npm start` and a Procfile, but they ignore `main` in package.json.
      return plan.startedBy === "file" ? { GOOGLE_ENTRYPOINT: plan.command } : {};
    case "python":
      return plan.startedBy === "procfile" ? {} : { GOOGLE_ENTRYPOINT: plan.command };
    case "procfile":
      return {};
  }
};

/**
 * Returns settings that start the source with the same command as on other providers, or the reason why the source
 * cannot start. Returns empty settings for a source that only the buildpacks support.
 */
export const planBuildpacks = (files: SourceFiles): BuildpackPlan | DeployFailure => {
  if (FOREIGN.some((name) => files.paths.has(name))) return AS_THEY_FIND;
  const planned = planSource(files);
  if ("failure" in planned) return planned.isUnknown ? AS_THEY_FIND : planned.failure;
  return { environment: environmentOf(planned.plan), warnings: planned.plan.warnings };
};

/** Returns the failure if the buildpacks reported that none of them supports the source. */
export const nothingDetected = (tail: readonly string[]): DeployFailure | undefined =>
  tail.some((line) => NOTHING_DETECTED.test(line))
    ? {
        reason: "no_builder",
        message:
          "The source has no Dockerfile, and Google's buildpacks do not recognize it. Add a Dockerfile or a file that the buildpacks detect, such as package.json, requirements.txt, pyproject.toml, main.py, go.mod or pom.xml.",
        logTail: tail,
      }
    : undefined;
