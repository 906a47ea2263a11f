/** Service templates with any valid values in every field. An adapter must store and return them without loss. */
import fc from "fast-check";
import { fieldLimits, GiB } from "../../core/domain/accounts/limits.ts";
import { type HealthCheck, healthLimits } from "../../core/domain/deploy/health.ts";
import { idleModes } from "../../core/domain/deploy/idle.ts";
import type { ServiceSpec, ServiceTemplate } from "../../core/domain/deploy/service-template.ts";
import type { BoundMount, Mount } from "../../core/domain/volumes/mounts.ts";
import { environment } from "./environments.ts";
import { mounts } from "./mounts.ts";
import { accountId, deploymentName } from "./names.ts";
import { schedule } from "./schedules.ts";
import { pinnedSecrets } from "./secrets.ts";

const within = ({ min, max }: { readonly min: number; readonly max: number }): fc.Arbitrary<number> =>
  fc.integer({ min, max });

const requiredFields = [
  ...(["name", "owner", "port", "memory", "cpu", "timeout", "concurrency", "maxInstances"] as const),
  ...(["sessionAffinity", "useHttp2", "mounts", "schedule", "env"] as const),
];

/** A health check with all defaults filled in. */
export const healthCheck = (): fc.Arbitrary<HealthCheck> =>
  fc
    .record(
      {
        path: fc.constantFrom("/", "/healthz", "/ready?deep=1&x=%20", "/a/b.c~d"),
        interval: within(healthLimits.interval),
        timeout: within(healthLimits.timeout),
        failures: within(healthLimits.failures),
        host: fc.constantFrom("example.com", "a.b-c.example:8080", "x"),
      },
      { requiredKeys: ["path", "interval", "timeout", "failures"], noNullPrototype: true },
    )
    .map((check) => ({ ...check, timeout: Math.min(check.timeout, check.interval) }));

/** Lowers `minInstances` to `maxInstances`, or to 10 without a maximum: every provider's default is at least 10. */
const withFittingMinimum = (spec: ServiceSpec): ServiceSpec =>
  spec.minInstances === undefined
    ? spec
    : { ...spec, minInstances: Math.min(spec.minInstances, spec.maxInstances || 10) };

/** The fields that a client declares. */
export const serviceSpec = (): fc.Arbitrary<ServiceSpec> =>
  fc
    .record(
      {
        name: deploymentName(),
        owner: accountId(),
        port: within(fieldLimits.port),
        memory: fc.integer({ min: fieldLimits.memory.minBytes, max: 128 * GiB }),
        cpu: fc.oneof(within({ min: 1, max: 64 }), fc.constantFrom(0.25, 0.5)),
        timeout: within(fieldLimits.timeout),
        concurrency: within(fieldLimits.concurrency),
        maxInstances: within(fieldLimits.max_instances),
        sessionAffinity: fc.boolean(),
        useHttp2: fc.boolean(),
        mounts: mounts(),
        schedule: fc.option(schedule()),
        env: environment(),
        minInstances: within({ min: 1, max: fieldLimits.min_instances.max }),
        health: healthCheck(),
        idle: fc.constantFrom(...idleModes),
      },
      { requiredKeys: requiredFields, noNullPrototype: true },
    )
    .map(withFittingMinimum);

const hex = fc.string({ unit: fc.constantFrom(..."0123456789abcdef"), minLength: 64, maxLength: 64 });

const bound = (mount: Mount): BoundMount => ({ ...mount, bucket: `vol-of-${mount.volume}` });

/** A complete template, as `rollout` receives it. */
export const serviceTemplate = (): fc.Arbitrary<ServiceTemplate> =>
  fc
    .tuple(
      serviceSpec(),
      fc.record(
        {
          cronToken: hex,
          envAliases: fc.dictionary(
            fc.constantFrom("OTHER_TOKEN", "OTHER_VOLUMES", "__proto__", "x"),
            fc.constantFrom("PORT", "CRON_TOKEN", "PORTSIDE_VOLUMES"),
            { noNullPrototype: true },
          ),
          secrets: pinnedSecrets(),
          image: hex.map((digest) => `memory://acme/sha256:${digest}`),
          deployId: fc.string({
            unit: fc.constantFrom(..."abcdefghijklmnopqrstuvwxyz0123456789"),
            minLength: 20,
            maxLength: 20,
          }),
        },
        { requiredKeys: ["cronToken", "image", "deployId"], noNullPrototype: true },
      ),
    )
    .map(([spec, { secrets, ...rest }]) => {
      const own = Object.entries(secrets ?? {}).filter(([name]) => !Object.hasOwn(spec.env, name));
      const pinned = own.length === 0 ? {} : { secrets: Object.fromEntries(own) };
      return { ...spec, ...rest, ...pinned, mounts: spec.mounts.map(bound) };
    });
