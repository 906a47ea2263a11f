/** The minimum and maximum number of instances of a service. */
import { err, ok, type Result } from "../../result.ts";
import { fieldLimits } from "../accounts/limits.ts";
import { type Issue, issue } from "../wire/issue.ts";
import type { Adjustment } from "./resources.ts";
import { type Service, type ServiceSpec, shownTemplate } from "./service-template.ts";

/** Parses the field `min_instances`. `null` means 0. */
export const parseMinInstances = (raw: unknown): Result<number, readonly Issue[]> => {
  if (raw === null || raw === "null") return ok(0);
  const value = typeof raw === "string" && /^\d{1,9}$/.test(raw) ? Number(raw) : raw;
  const { min, max } = fieldLimits.min_instances;
  return typeof value === "number" && Number.isInteger(value) && value >= min && value <= max
    ? ok(value)
    : err([issue([], `must be an integer from ${min} to ${max}, or null`, "value_error")]);
};

/** Returns the maximum number of instances of a service. If `maxInstances` is 0, returns the platform's default. */
export const effectiveMax = (maxInstances: number, defaultMax: number): number =>
  maxInstances === 0 ? defaultMax : maxInstances;

/** Returns the adjustment if the minimum was lowered. A minimum from an earlier deploy may exceed the new maximum. */
export const explainMinimum = (from: number, to: number): Adjustment[] =>
  from === to
    ? []
    : [
        {
          field: "min_instances",
          from: String(from),
          to: String(to),
          message: `min_instances lowered from ${from} to ${to}, the maximum number of instances`,
        },
      ];

/** Returns a sentence about the minimum, or an empty list if it is 0. */
export const describeMinimum = ({ minInstances = 0 }: Pick<ServiceSpec, "minInstances">): string[] =>
  minInstances === 0
    ? []
    : [`Keeps ${minInstances} ${minInstances === 1 ? "instance" : "instances"} running without requests`];

/**
 * Returns the total minimum number of instances of an account's services, after a change to one service.
 * @param services all services of the account
 */
export const sumOfMinimums = (
  services: readonly Service[],
  changed: Pick<ServiceSpec, "name" | "minInstances">,
): number =>
  services
    .filter(({ name }) => name !== changed.name)
    .reduce((sum, service) => sum + (shownTemplate(service).minInstances ?? 0), changed.minInstances ?? 0);
