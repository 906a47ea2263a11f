/** The reasons why a deploy fails. Clients must treat an unknown reason as `internal`. */
import { z } from "zod";

/** All reasons with their meanings. A test compares `docs/reference/errors.md` with this table. */
export const deployReasons = {
  archive_invalid: "The source archive is not a safe tar.gz.",
  archive_too_large: "The archive named by source_object exceeds the size limit.",
  no_builder: "Portside cannot detect how to build the source, or the required builder is not available.",
  build_failed: "A command of the build failed, or the build rejected a file such as package.json or Dockerfile.",
  build_timeout: "The build, or the fetch of its source, exceeded its deadline.",
  image_not_found: "The image to run does not exist.",
  exited: "The service exited with code 0 instead of listening.",
  crashed: "The service exited with a code other than 0, or a signal ended it.",
  out_of_memory: "The service exceeded its declared memory and ended.",
  did_not_listen:
    "The service did not listen on PORT before the deadline, or it listened on a different port or address.",
  unhealthy: "The service listened, but its health check did not pass before the deadline.",
  rollout_timeout: "The rollout exceeded its deadline.",
  schedule_failed: "The schedule could not be set or removed.",
  volume_unavailable: "A volume that the deploy mounts, or the object in source_object, is not available.",
  secret_unavailable: "A version of a secret that the deploy uses does not exist or cannot be read.",
  quota_exceeded: "The deploy exceeds a quota of the provider or of the account.",
  permission: "The platform lacks a permission that the deploy needs.",
  name_taken: "The name belongs to another account or application.",
  superseded:
    "Another deploy changed the deployment in the meantime, or a change to the account made the deploy invalid.",
  deleted: "The deployment was deleted in the meantime.",
  interrupted: "The deploy was cancelled, or its server stopped.",
  provider_unavailable: "The provider failed or did not respond, or lacked a resource such as disk space.",
  internal: "A bug in Portside, an adapter or a policy.",
} as const;

/** The reason for a failed deploy. */
export type DeployReason = keyof typeof deployReasons;

/** The schema of a reason. */
export const deployReasonSchema = z.enum(Object.keys(deployReasons) as [DeployReason, ...DeployReason[]]);

/** Describes how a deploy ended, for a deploy whose last record is unknown. A deploy without a reason succeeded. */
export const meaningOfEnd = (reason: DeployReason | null): string =>
  reason === null ? "The deploy succeeded. The log does not contain its last record." : deployReasons[reason];

/** The failure of a build or rollout, as the provider reports it. */
export interface DeployFailure {
  readonly reason: DeployReason;
  /** For the client: the cause and the next step. */
  readonly message: string;
  readonly exitCode?: number;
  /** The last lines of the build or of the service, oldest first. */
  readonly logTail?: readonly string[];
}

/** Returns whether a deploy failed because another write came first. Such a deploy must make no further changes. */
export const isLost = ({ reason }: { readonly reason: DeployReason | null }): boolean =>
  reason === "superseded" || reason === "deleted" || reason === "name_taken";
