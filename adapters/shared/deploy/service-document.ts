/**
 * Converts service templates to JSON documents and back, for the memory and local providers. Pure;
 * `parse(render(template))` returns the template.
 */
import { z } from "zod";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { ServiceTemplate } from "../../../core/domain/deploy/service-template.ts";
import type { DeploymentName, VolumeName } from "../../../core/domain/wire/names.ts";

const API_VERSION = "portside/v1";

const documentSchema = z.object({
  apiVersion: z.literal(API_VERSION),
  metadata: z.object({ name: z.string(), owner: z.string(), deployId: z.string() }),
  spec: z.object({
    image: z.string(),
    port: z.int(),
    resources: z.object({ cpu: z.int(), memory: z.int() }),
    timeout: z.int(),
    concurrency: z.int(),
    maxInstances: z.int(),
    sessionAffinity: z.boolean(),
    useHttp2: z.boolean(),
    mounts: z.array(
      z.object({
        path: z.string(),
        volume: z.string(),
        bucket: z.string(),
        readOnly: z.boolean(),
        subPath: z.string().optional(),
      }),
    ),
    schedule: z.object({ cron: z.string(), timezone: z.string() }).nullable(),
    cronToken: z.string(),
    // Pairs instead of an object, because a variable may be called `__proto__`.
    env: z.array(z.tuple([z.string(), z.string()])),
    envAliases: z.array(z.tuple([z.string(), z.string()])).optional(),
  }),
});

export type ServiceDocument = z.output<typeof documentSchema>;

export const renderService = (template: ServiceTemplate): ServiceDocument => ({
  apiVersion: API_VERSION,
  metadata: { name: template.name, owner: template.owner, deployId: template.deployId },
  spec: {
    image: template.image,
    port: template.port,
    resources: { cpu: template.cpu, memory: template.memory },
    timeout: template.timeout,
    concurrency: template.concurrency,
    maxInstances: template.maxInstances,
    sessionAffinity: template.sessionAffinity,
    useHttp2: template.useHttp2,
    mounts: template.mounts.map((mount) => ({ ...mount })),
    schedule: template.schedule === null ? null : { ...template.schedule },
    cronToken: template.cronToken,
    env: Object.entries(template.env),
    ...(template.envAliases === undefined ? {} : { envAliases: Object.entries(template.envAliases) }),
  },
});

/** Parses a document. Returns undefined if Portside did not write it. */
export const parseService = (raw: unknown): ServiceTemplate | undefined => {
  const parsed = documentSchema.safeParse(raw);
  if (!parsed.success) return undefined;
  const { metadata, spec } = parsed.data;
  return {
    name: metadata.name as DeploymentName,
    owner: metadata.owner as AccountId,
    deployId: metadata.deployId,
    image: spec.image,
    port: spec.port,
    cpu: spec.resources.cpu,
    memory: spec.resources.memory,
    timeout: spec.timeout,
    concurrency: spec.concurrency,
    maxInstances: spec.maxInstances,
    sessionAffinity: spec.sessionAffinity,
    useHttp2: spec.useHttp2,
    mounts: spec.mounts.map(({ path, volume, bucket, readOnly, subPath }) => ({
      path,
      volume: volume as VolumeName,
      bucket,
      readOnly,
      ...(subPath === undefined ? {} : { subPath }),
    })),
    schedule: spec.schedule,
    cronToken: spec.cronToken,
    env: Object.fromEntries(spec.env),
    ...(spec.envAliases === undefined ? {} : { envAliases: Object.fromEntries(spec.envAliases) }),
  };
};
