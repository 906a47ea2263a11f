/**
 * Which deployments mount which volumes: a fold over the templates of the services that live, and nothing else.
 * No table of attachments exists that could differ from what runs.
 */

import type { Service } from "../deploy/service-template.ts";
import type { DeploymentName } from "../wire/names.ts";

/** The names of the volumes that a service mounts: in any revision that gets traffic, or in the one being rolled out. */
const volumesOf = ({ serving, rollingOut }: Service): Set<string> => {
  const templates = [...serving.map((revision) => revision.template), ...(rollingOut === null ? [] : [rollingOut])];
  return new Set(templates.flatMap((template) => template.mounts.map((mount) => mount.volume)));
};

/** The deployments that mount each volume, by the volume's name; both in the order of `services`. */
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

/** Why a volume may not be deleted now, naming those who mount it; undefined where it may. */
export const deletionProblem = (volume: string, mounters: readonly string[]): string | undefined =>
  mounters.length === 0
    ? undefined
    : `'${volume}' is mounted by ${mounters.map((name) => `'${name}'`).join(", ")}; deploy without it, or remove ${mounters.length === 1 ? "that deployment" : "those deployments"}, first.`;
