/**
 * Deploy requests that must be accepted, as form text and as JSON values, with the declaration that a parser must
 * return for each.
 */
import fc from "fast-check";
import { accountLimits, fieldLimits, GiB } from "../../core/domain/accounts/limits.ts";
import type { DeployDeclaration } from "../../core/domain/deploy/declaration.ts";
import type { HealthCheck } from "../../core/domain/deploy/health.ts";
import { type IdleMode, idleModes } from "../../core/domain/deploy/idle.ts";
import {
  cpuForMounts,
  fitResources,
  formatMemory,
  type ResourceCatalogue,
} from "../../core/domain/deploy/resources.ts";
import type { Schedule } from "../../core/domain/schedules/schedule.ts";
import { type DeploymentName, parseDeploymentName } from "../../core/domain/wire/names.ts";
import { environment } from "./environments.ts";
import { mountDeclaration } from "./mounts.ts";
import { writtenDeploymentName } from "./names.ts";
import { cloudRunLikeCatalogue, resourcesWithin } from "./resources.ts";
import { schedule, timezone } from "./schedules.ts";
import { healthCheck } from "./service-templates.ts";

type Fields = Readonly<Record<string, unknown>>;

/** One request in both forms. */
export interface DeployRequestCase {
  /** The fields as JSON values. */
  readonly json: Fields;
  /** The same fields as form text. */
  readonly form: Readonly<Record<string, string>>;
  /** The declaration that both forms express, without the source. */
  readonly declares: Omit<DeployDeclaration, "source">;
}

/** A part of a request: the declared value, and the fields in both forms. */
interface Part<T> {
  readonly value: T;
  readonly json: Fields;
  readonly form: Readonly<Record<string, string>>;
}

const absent = <T>(value: T): Part<T> => ({ value, json: {}, form: {} });

/** Present in two of three requests. If absent, the value is the default. */
const perhaps = <T>(given: fc.Arbitrary<Part<T>>, defaultValue: T): fc.Arbitrary<Part<T>> =>
  fc.oneof({ weight: 2, arbitrary: given }, { weight: 1, arbitrary: fc.constant(absent(defaultValue)) });

const integer = (name: string, min: number, max: number, defaultValue: number): fc.Arbitrary<Part<number>> =>
  perhaps(
    fc.integer({ min, max }).map((value) => ({ value, json: { [name]: value }, form: { [name]: String(value) } })),
    defaultValue,
  );

const flag = (name: string): fc.Arbitrary<Part<boolean>> =>
  perhaps(
    fc
      .boolean()
      .chain((value) =>
        fc
          .oneof(fc.mixedCase(fc.constant(String(value))), fc.constant(value ? "1" : "0"))
          .map((text) => ({ value, json: { [name]: value }, form: { [name]: text } })),
      ),
    false,
  );

const resources = (catalogue: ResourceCatalogue): fc.Arbitrary<Part<{ cpu: number; memory: number }>> => {
  const defaults = { cpu: fieldLimits.cpu.default, memory: GiB };
  return resourcesWithin(catalogue)
    .chain((wanted) =>
      fc.tuple(fc.boolean(), fc.boolean(), fc.boolean()).map(([sayCpu, sayMemory, inBytes]) => {
        const value = {
          cpu: sayCpu ? wanted.cpu : defaults.cpu,
          memory: sayMemory ? Math.max(wanted.memory, fieldLimits.memory.minBytes) : defaults.memory,
        };
        const memory = sayMemory ? { memory: inBytes ? String(value.memory) : formatMemory(value.memory) } : {};
        return {
          value,
          json: { ...memory, ...(sayCpu ? { cpu: value.cpu } : {}) },
          form: { ...memory, ...(sayCpu ? { cpu: String(value.cpu) } : {}) },
        };
      }),
    )
    .filter(({ value }) => fitResources(value, catalogue) !== undefined);
};

const noSchedule = (): fc.Arbitrary<Part<null>> =>
  fc
    .tuple(
      fc.constantFrom<[unknown, string]>(["", ""], [null, "null"], [{}, "{}"], ["  ", " "]),
      fc.option(timezone(), { nil: undefined }),
    )
    .map(([[json, form], zone]) => {
      const beside = zone === undefined ? {} : { timezone: zone };
      return { value: null, json: { schedule: json, ...beside }, form: { schedule: form, ...beside } };
    });

const someSchedule = (): fc.Arbitrary<Part<Schedule>> =>
  fc.tuple(schedule(), fc.constantFrom("beside", "inside", "both", "neither")).map(([value, where]) => {
    const { cron } = value;
    const inside = { cron, ...(where === "neither" ? {} : { timezone: value.timezone }) };
    const beside = where === "beside" || where === "both" ? { timezone: value.timezone } : {};
    return {
      value: where === "neither" ? { cron, timezone: "UTC" } : value,
      json: { schedule: where === "beside" ? cron : inside, ...beside },
      form: { schedule: where === "beside" ? `  ${cron} ` : JSON.stringify(inside, undefined, 1), ...beside },
    };
  });

const scheduled: fc.Arbitrary<Part<Schedule | null>> = fc.oneof(
  { weight: 2, arbitrary: someSchedule() },
  { weight: 1, arbitrary: noSchedule() },
  { weight: 1, arbitrary: fc.constant(absent(null)) },
);

const minInstances: fc.Arbitrary<Part<number | undefined>> = perhaps(
  fc
    .constantFrom(null, 0, 1)
    .map((value) => ({ value: value ?? 0, json: { min_instances: value }, form: { min_instances: String(value) } })),
  undefined,
);

const health: fc.Arbitrary<Part<HealthCheck | null | undefined>> = perhaps(
  fc
    .option(healthCheck())
    .map((value) => ({ value, json: { health: value }, form: { health: JSON.stringify(value) } })),
  undefined,
);

const idle: fc.Arbitrary<Part<IdleMode | null | undefined>> = perhaps(
  fc.constantFrom(...idleModes, null).map((value) => ({ value, json: { idle: value }, form: { idle: String(value) } })),
  undefined,
);

const message: fc.Arbitrary<Part<string | null | undefined>> = perhaps(
  fc.constantFrom("Fix the login page", "grüße", "", "x".repeat(200)).map((value) => ({
    value: value === "" ? undefined : value,
    json: { message: value },
    form: { message: value },
  })),
  undefined,
);

const asWritten = (written: string): { readonly written: string; readonly name: DeploymentName } => {
  const name = parseDeploymentName(written);
  if (name === undefined) throw new TypeError(`'${written}' cannot be the name of a deployment`);
  return { written, name };
};

/**
 * Requests that a provider must accept if it offers these sizes and every other feature.
 *
 * @param name names as clients write them; defaults to any valid name: `fc.constantFrom("prod-shop", "prod_shop")`
 */
export const deployRequest = (
  catalogue: ResourceCatalogue = cloudRunLikeCatalogue,
  name?: fc.Arbitrary<string>,
): fc.Arbitrary<DeployRequestCase> =>
  fc
    .record({
      name: name === undefined ? writtenDeploymentName() : name.map(asWritten),
      sizes: resources(catalogue),
      port: integer("port", fieldLimits.port.min, fieldLimits.port.max, fieldLimits.port.default),
      timeout: integer("timeout", fieldLimits.timeout.min, fieldLimits.timeout.max, fieldLimits.timeout.default),
      concurrency: integer("concurrency", 1, fieldLimits.concurrency.max, fieldLimits.concurrency.default),
      maxInstances: integer("max_instances", 0, accountLimits.instances, fieldLimits.max_instances.default),
      sessionAffinity: flag("session_affinity"),
      useHttp2: flag("use_http2"),
      volumes: mountDeclaration(),
      schedule: scheduled,
      minInstances,
      health,
      idle,
      message,
      env: fc.option(environment(), { nil: undefined }),
    })
    .filter(({ sizes, volumes }) => {
      const cpu = fitResources(sizes.value, catalogue)?.cpu ?? 1;
      return volumes.mounts.length === 0 || cpuForMounts(cpu, catalogue) === undefined;
    })
    .map(({ name, sizes, volumes, env, ...parts }) => {
      const all = [sizes, ...Object.values(parts)];
      const text = (value: unknown) => JSON.stringify(value);
      return {
        json: Object.assign(
          { function_name: name.written, volumes: volumes.declaration, ...(env === undefined ? {} : { env }) },
          ...all.map((part) => part.json),
        ),
        form: Object.assign(
          {
            function_name: name.written,
            volumes: text(volumes.declaration),
            ...(env === undefined ? {} : { env: text(env) }),
          },
          ...all.map((part) => part.form),
        ),
        declares: {
          name: name.name,
          writtenName: name.written,
          ...sizes.value,
          port: parts.port.value,
          timeout: parts.timeout.value,
          concurrency: parts.concurrency.value,
          maxInstances: parts.maxInstances.value,
          sessionAffinity: parts.sessionAffinity.value,
          useHttp2: parts.useHttp2.value,
          mounts: volumes.mounts,
          schedule: parts.schedule.value,
          ...(env === undefined ? {} : { env, secretReferences: {} }),
          ...(parts.minInstances.value === undefined ? {} : { minInstances: parts.minInstances.value }),
          ...(parts.health.value === undefined ? {} : { health: parts.health.value }),
          ...(parts.idle.value === undefined ? {} : { idle: parts.idle.value }),
          ...(parts.message.value ? { message: parts.message.value } : {}),
        },
      };
    });
