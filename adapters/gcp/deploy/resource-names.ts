/** Converts between Portside's names and Cloud Run's resource names. */
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import { type GcpLocation, parentOf } from "../location.ts";

/** A deployment's name is its service id: both have at most 49 characters (`service_id`, run/v2/service.proto). */
export const serviceNameOf = (location: GcpLocation, name: DeploymentName): string =>
  `${parentOf(location)}/services/${name}`;

export const revisionNameOf = (location: GcpLocation, name: DeploymentName, revision: string): string =>
  `${serviceNameOf(location, name)}/revisions/${revision}`;

/** The last part of a resource's full name. */
export const idOf = (resource: string | null | undefined): string => (resource ?? "").split("/").at(-1) ?? "";
