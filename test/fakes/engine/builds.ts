/** What the fakes of clouds' builders build with. */
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";

export type EngineBuild = (
  archive: Uint8Array,
  say: (line: string) => void,
  signal: AbortSignal,
) => Promise<{ readonly image: string } | { readonly failure: DeployFailure }>;

/** What the local engine says of a source that it cannot build, as the buildpacks' lifecycle says it. */
export const formatLifecycle = ({ reason, message }: DeployFailure): string[] =>
  reason === "no_builder" ? ["ERROR: No buildpack groups passed detection."] : [`ERROR: failed to build: ${message}`];
