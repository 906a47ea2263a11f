/** Why a deploy failed: a closed list. Clients must treat an unknown reason as `internal`. */
import { z } from "zod";

/** All reasons with their meanings. `docs/reference/errors.md` is tested against it. */
export const deployReasons = {
  archive_invalid: "The source archive is not a safe tar.gz.",
  archive_too_large: "The archive named by source_object is over the limit.",
  no_builder: "Nothing in the source says how to build it, or the builder it needs is not here.",
  build_failed: "A command of the build failed.",
  build_timeout: "The build passed its deadline.",
  image_not_found: "The image to run is not there.",
  exited: "The service ended with exit code 0 instead of listening.",
  crashed: "The service ended with another exit code, or by a signal.",
  out_of_memory: "The service was ended for using more memory than declared.",
  did_not_listen: "Nothing listened on PORT before the deadline, or it listened elsewhere.",
  rollout_timeout: "The rollout passed its deadline.",
  schedule_failed: "The schedule could not be set.",
  volume_unavailable: "A volume that the plan counted on is gone.",
  quota_exceeded: "The provider or the account has no room for it.",
  permission: "The platform may not do what the deploy needs.",
  name_taken: "Another account was first with the name.",
  superseded: "Another deploy of the name changed it meanwhile.",
  deleted: "The deployment was deleted meanwhile.",
  interrupted: "The deploy was cancelled, or its server stopped.",
  provider_unavailable: "The provider did not answer.",
  internal: "A bug in Portside or in an adapter.",
} as const;

export type DeployReason = keyof typeof deployReasons;

export const deployReasonSchema = z.enum(Object.keys(deployReasons) as [DeployReason, ...DeployReason[]]);

/** The failure of a build or rollout, as far as the provider knows it. */
export interface DeployFailure {
  readonly reason: DeployReason;
  /** For the client: what happened and what to do. */
  readonly message: string;
  readonly exitCode?: number;
  /** The last lines of the build or of the service, oldest first. */
  readonly logTail?: readonly string[];
}
