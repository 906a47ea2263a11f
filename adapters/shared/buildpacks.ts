/** What buildpacks say of a source that none of them knows. Pure. */
import type { DeployFailure } from "../../core/domain/deploy-reason.ts";

/** The lifecycle's own words: https://buildpacks.io, `detector`; it has no code of its own in a build of a cloud's. */
const NOTHING_DETECTED = /No buildpack groups passed detection/;

/** Google's, on both clouds: what builds on one builds on the other. */
export const BUILDPACKS_BUILDER = "gcr.io/buildpacks/builder:latest";

/** Undefined: they did not say so. */
export const nothingDetected = (tail: readonly string[]): DeployFailure | undefined =>
  tail.some((line) => NOTHING_DETECTED.test(line))
    ? {
        reason: "no_builder",
        message:
          "Nothing here says how to build it. Add a Dockerfile, or what Google's buildpacks look for: package.json, requirements.txt, pyproject.toml, main.py, go.mod, pom.xml, ...",
        logTail: tail,
      }
    : undefined;
