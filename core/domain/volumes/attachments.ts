/** Determines which deployments mount which volumes. The templates of the services are the only record of mounts. */

import type { Service } from "../deploy/service-template.ts";
import type { DeploymentName } from "../wire/names.ts";

/** Returns the volumes mounted by any revision that receives traffic or by the template that is rolling out. */
const volumesOf = ({ serving, rollingOut }: Service): Set<string> => {
  const templates = [...serving.map((revision) => revision.template), ...(rollingOut === null ? [] : [rollingOut])];
  return new Set(templates.flatMap((template) => template.mounts.map((mount) => mount.volume)));
};

/** Maps the name of each volume to the deployments that mount it, in the order of `services`. */
export const attachmentsOf = (services: readonly Service[]): ReadonlyMap<string, readonly DeploymentName[]> => {
  const attached = new Map<string, DeploymentName[]>();
  for (const service of services)
    for (const volume of volumesOf(service)) {
      const names = attached.get(volume);
      if (names === undefined) attached.set(volume, [service.name]);
      else names.push(service.name);
    }
  return attached;
};

/** Returns the message that rejects the deletion of a volume, or undefined if no deployment mounts the volume. */
export const deletionProblem = (volume: string, mounters: readonly string[]): string | undefined =>
  mounters.length === 0
    ? undefined
    : `The volume '${volume}' is mounted by ${mounters.map((name) => `'${name}'`).join(", ")}. Deploy without the volume first, or remove ${mounters.length === 1 ? "that deployment" : "those deployments"}.`;
