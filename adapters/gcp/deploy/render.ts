/**
 * Merges a template into the existing Cloud Run revision template. Fields that Portside does not manage keep their
 * values. Pure functions. For the fields, see run/v2/revision_template.proto and k8s.min.proto.
 */
import type { protos } from "@google-cloud/run";
import { MiB } from "../../../core/domain/accounts/limits.ts";
import { withAliases } from "../../../core/domain/deploy/environment.ts";
import { formatMemory } from "../../../core/domain/deploy/resources.ts";
import type { ServiceTemplate } from "../../../core/domain/deploy/service-template.ts";
import type { BoundMount } from "../../../core/domain/volumes/mounts.ts";
import { secretIdOf } from "../secrets/names.ts";
import { livenessProbeOf, type ProbeSettings, startupProbeOf } from "./probes.ts";
import { labelsOf } from "./record.ts";

type Run = typeof protos.google.cloud.run.v2;
export type RunService = Parameters<Run["Service"]["create"]>[0] & object;
export type RunTemplate = NonNullable<RunService["template"]>;
type Container = NonNullable<RunTemplate["containers"]>[number];
type Volume = NonNullable<RunTemplate["volumes"]>[number];
type VolumeMount = NonNullable<Container["volumeMounts"]>[number];

/** Name prefix of the platform's volumes; all others were added by hand. */
const VOLUME_PREFIX = "portside-";
const CRON_TOKEN = "CRON_TOKEN";
const VOLUMES = "PORTSIDE_VOLUMES";

/** Minimum memory of the second generation: https://docs.cloud.google.com/run/docs/configuring/services/memory-limits */
export const GEN2_MEMORY = 512 * MiB;

export interface RevisionSettings extends ProbeSettings {
  /** E-mail of the account's runtime identity. */
  readonly identity: string;
  readonly revision: string;
  /** Annotations to add to those of the existing template. */
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Memory on Cloud Run, in bytes. Services with mounts need the second generation, which has a minimum. */
export const memoryOf = ({ memory, mounts }: ServiceTemplate): number =>
  mounts.length === 0 ? memory : Math.max(memory, GEN2_MEMORY);

/**
 * One volume per distinct bucket, folder and access mode, because these are properties of a volume (GCSVolumeSource).
 */
const volumesOf = (mounts: readonly BoundMount[]): { volumes: Volume[]; volumeMounts: VolumeMount[] } => {
  const names = new Map<string, string>();
  const volumes: Volume[] = [];
  const volumeMounts = mounts.map(({ path, bucket, readOnly, subPath }) => {
    const key = JSON.stringify([bucket, readOnly, subPath]);
    const known = names.get(key);
    if (known !== undefined) return { name: known, mountPath: path };
    const name = `${VOLUME_PREFIX}${volumes.length + 1}`;
    names.set(key, name);
    // gcsfuse flags: show folders that exist only as prefixes of object names, and let every user of the container
    // write.
    const mountOptions = ["implicit-dirs", "file-mode=666", "dir-mode=777"];
    if (subPath !== undefined) mountOptions.push(`only-dir=${subPath}`);
    volumes.push({ name, gcs: { bucket, readOnly, mountOptions } });
    return { name, mountPath: path };
  });
  return { volumes, volumeMounts };
};

const isOurs = ({ name }: { name?: string | null }): boolean => name?.startsWith(VOLUME_PREFIX) === true;

/** Value of the mounts variable: a JSON object that maps paths to buckets. */
const bucketsOf = ({ mounts }: ServiceTemplate): string =>
  JSON.stringify(Object.fromEntries(mounts.map(({ path, bucket }) => [path, bucket])));

/**
 * The variables with the value of a secret. Cloud Run reads the value when an instance starts:
 * https://docs.cloud.google.com/run/docs/configuring/services/secrets
 */
const secretsOf = ({ owner, secrets = {} }: ServiceTemplate) =>
  Object.entries(secrets).map(
    ([variable, { name, version }]) =>
      [variable, { secret: secretIdOf(owner, name), version: String(version) }] as const,
  );

/** Keeps variables that neither the former nor the new declaration names: they were set by hand. */
const environmentOf = (template: ServiceTemplate, present: Container | undefined, former?: ServiceTemplate) => {
  // Cloud Run sets PORT itself and rejects a template that sets it.
  const { PORT: _port, ...own } = withAliases(
    { PORT: String(template.port), [CRON_TOKEN]: template.cronToken, [VOLUMES]: bucketsOf(template) },
    template.envAliases,
  );
  const env = Object.entries({ ...template.env, ...own });
  const secrets = secretsOf(template);
  const before = [former?.env, former?.envAliases, former?.secrets].flatMap((one) => Object.keys(one ?? {}));
  const declared = new Set([...[...env, ...secrets].map(([name]) => name), ...before]);
  const byHand = (present?.env ?? []).filter(({ name }) => !declared.has(name ?? ""));
  return [
    ...env.map(([name, value]) => ({ name, value })),
    ...secrets.map(([name, secretKeyRef]) => ({ name, valueSource: { secretKeyRef } })),
    ...byHand,
  ];
};

const generationOf = (template: ServiceTemplate): RunTemplate["executionEnvironment"] | undefined => {
  if (template.mounts.length > 0) return "EXECUTION_ENVIRONMENT_GEN2";
  // "If you use less than 1 vCPU [...] You must use the first generation execution environment":
  // https://docs.cloud.google.com/run/docs/configuring/services/cpu
  if (template.cpu < 1) return "EXECUTION_ENVIRONMENT_GEN1";
  // "If you use less than 512 MiB of memory, you should use the first generation execution environment."
  return template.memory < GEN2_MEMORY ? "EXECUTION_ENVIRONMENT_GEN1" : undefined;
};

/** Keeps a generation that was set by hand, and drops a generation that only the former declaration required. */
const keptGenerationOf = (present: RunTemplate, former: ServiceTemplate | undefined) =>
  former !== undefined && present.executionEnvironment === generationOf(former)
    ? undefined
    : present.executionEnvironment;

/**
 * @param present the existing revision template
 * @param former the declaration from which Portside rendered the existing revision template
 */
export const renderTemplate = (
  template: ServiceTemplate,
  settings: RevisionSettings,
  present: RunTemplate = {},
  former?: ServiceTemplate,
): RunTemplate => {
  const { identity, revision, annotations } = settings;
  const [container, ...sidecars] = present.containers ?? [];
  const { livenessProbe: _probe, ...keptContainer } = container ?? {};
  const { volumes, volumeMounts } = volumesOf(template.mounts);
  const { executionEnvironment: _earlier, ...kept } = present;
  const generation = generationOf(template) ?? keptGenerationOf(present, former);
  return {
    ...kept,
    revision,
    labels: { ...present.labels, ...labelsOf(template) },
    annotations: { ...present.annotations, ...annotations },
    serviceAccount: identity,
    timeout: { seconds: template.timeout },
    maxInstanceRequestConcurrency: template.concurrency,
    sessionAffinity: template.sessionAffinity,
    // 0 selects Cloud Run's own limit: "When unspecified, the field is set to the server default value of 100"
    // (RevisionScaling.max_instance_count).
    scaling: { ...present.scaling, maxInstanceCount: template.maxInstances },
    ...(generation === undefined ? {} : { executionEnvironment: generation }),
    containers: [
      {
        ...keptContainer,
        image: template.image,
        env: environmentOf(template, container, former),
        resources: {
          ...container?.resources,
          limits: {
            ...container?.resources?.limits,
            cpu: String(template.cpu),
            memory: formatMemory(memoryOf(template)),
          },
          // "If ResourceRequirements is set, the caller must explicitly set this field to true to preserve the default
          // behavior" (ResourceRequirements.cpu_idle).
          cpuIdle: true,
          // Google bills the extra CPU only while an instance starts and for 10 s afterwards:
          // https://docs.cloud.google.com/run/docs/configuring/services/cpu#startup-boost
          startupCpuBoost: true,
        },
        ports: [{ name: template.useHttp2 ? "h2c" : "http1", containerPort: template.port }],
        startupProbe: startupProbeOf(template, settings),
        ...livenessProbeOf(template, container, former),
        volumeMounts: [...volumeMounts, ...(container?.volumeMounts ?? []).filter((one) => !isOurs(one))],
      },
      ...sidecars,
    ],
    volumes: [...volumes, ...(present.volumes ?? []).filter((one) => !isOurs(one))],
  };
};

/**
 * Returns the service's minimum number of instances. Returns nothing if neither the template nor a former template has
 * a minimum: the service then keeps a minimum that was set by hand. Unlike the minimum of a revision, the minimum of a
 * service follows the traffic, and a change to it creates no revision:
 * https://docs.cloud.google.com/run/docs/configuring/min-instances
 */
export const renderMinimum = (
  { minInstances = 0 }: ServiceTemplate,
  former: readonly ServiceTemplate[],
  present: RunService["scaling"],
): Pick<RunService, "scaling"> =>
  minInstances > 0 || former.some((one) => (one.minInstances ?? 0) > 0)
    ? { scaling: { ...present, minInstanceCount: minInstances } }
    : {};
