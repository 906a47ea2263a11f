/**
 * Converts service templates to JSON documents and back, for every provider. Pure. `parse(render(template))` returns
 * the template.
 */
import { z } from "zod";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { healthCheckSchema } from "../../../core/domain/deploy/health.ts";
import { idleModes } from "../../../core/domain/deploy/idle.ts";
import type { ServiceTemplate } from "../../../core/domain/deploy/service-template.ts";
import type { DeploymentName, SecretName, VolumeName } from "../../../core/domain/wire/names.ts";

const API_VERSION = "portside/v1";
/** The version of documents with secrets. An engine that cannot read secrets rejects it, so the rollout fails. */
const SECRETS_VERSION = "portside/v2";

export const serviceDocumentSchema = z.object({
  apiVersion: z.enum([API_VERSION, SECRETS_VERSION]),
  metadata: z.object({ name: z.string(), owner: z.string(), deployId: z.string() }),
  spec: z.object({
    image: z.string(),
    port: z.int(),
    resources: z.object({ cpu: z.number(), memory: z.int() }),
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
        subPath: z.string().exactOptional(),
      }),
    ),
    schedule: z.object({ cron: z.string(), timezone: z.string() }).nullable(),
    cronToken: z.string(),
    // Pairs instead of an object, because a variable may be called `__proto__`.
    env: z.array(z.tuple([z.string(), z.string()])),
    envAliases: z.array(z.tuple([z.string(), z.string()])).optional(),
    secrets: z
      .array(z.tuple([z.string(), z.object({ name: z.string(), version: z.int(), follows: z.boolean() })]))
      .exactOptional(),
    // Absent in documents that earlier versions wrote.
    minInstances: z.int().exactOptional(),
    health: healthCheckSchema.exactOptional(),
    idle: z.enum(idleModes).exactOptional(),
  }),
});

export type ServiceDocument = z.output<typeof serviceDocumentSchema>;

export const renderService = (template: ServiceTemplate): ServiceDocument => {
  const { name, owner, deployId, cpu, memory, env, envAliases, secrets, ...spec } = template;
  return serviceDocumentSchema.parse({
    apiVersion: secrets === undefined ? API_VERSION : SECRETS_VERSION,
    metadata: { name, owner, deployId },
    spec: {
      ...spec,
      resources: { cpu, memory },
      env: Object.entries(env),
      ...(envAliases === undefined ? {} : { envAliases: Object.entries(envAliases) }),
      ...(secrets === undefined ? {} : { secrets: Object.entries(secrets) }),
    },
  });
};

/** Parses a document. Returns undefined if this version of Portside cannot read it. */
export const parseService = (raw: unknown): ServiceTemplate | undefined => {
  const parsed = serviceDocumentSchema.safeParse(raw);
  if (!parsed.success) return undefined;
  const { name, owner, deployId } = parsed.data.metadata;
  const { resources, mounts, env, envAliases, secrets, ...spec } = parsed.data.spec;
  return {
    ...spec,
    ...resources,
    name: name as DeploymentName,
    owner: owner as AccountId,
    deployId,
    mounts: mounts.map(({ volume, ...mount }) => ({ ...mount, volume: volume as VolumeName })),
    env: Object.fromEntries(env),
    ...(envAliases === undefined ? {} : { envAliases: Object.fromEntries(envAliases) }),
    ...(secrets === undefined
      ? {}
      : {
          secrets: Object.fromEntries(
            secrets.map(([variable, { name: secret, version, follows }]) => [
              variable,
              { name: secret as SecretName, version, follows },
            ]),
          ),
        }),
  };
};
