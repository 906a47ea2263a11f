/** The build function of the fake cloud builders. */
import { createHash } from "node:crypto";
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";

export type EngineBuild = (
  archive: Uint8Array,
  say: (line: string) => void,
  signal: AbortSignal,
) => Promise<{ readonly image: string } | { readonly failure: DeployFailure }>;

/** Formats a build failure of the local engine as the buildpacks' lifecycle would print it. */
export const formatLifecycle = ({ reason, message }: DeployFailure): string[] =>
  reason === "no_builder" ? ["ERROR: No buildpack groups passed detection."] : [`ERROR: failed to build: ${message}`];

/** Builds nothing. Each source has its own image. */
export const simulatedBuild: EngineBuild = async (archive) => ({
  image: `hello-${createHash("sha256").update(archive).digest("hex").slice(0, 16)}`,
});
