/** Health checks: requests with which the platform tests whether an instance can serve. */
import { z } from "zod";
import type { Capabilities } from "../wire/capabilities.ts";
import { type Issue, issue, unknownField } from "../wire/issue.ts";
import type { Adjustment } from "./resources.ts";

/** The health check of a service, with defaults applied. Times are in seconds. */
export interface HealthCheck {
  /** The path and query of the request, beginning with `/`. */
  readonly path: string;
  /** The time from the start of one check to the start of the next. */
  readonly interval: number;
  /** How long the service may take to respond. At most `interval`. */
  readonly timeout: number;
  /** The number of consecutive failures after which an instance is replaced. */
  readonly failures: number;
  /** The `Host` header of the request. If absent, the header is the address of the instance. */
  readonly host?: string;
}

/** The ranges and defaults of the numbers. */
export const healthLimits = {
  interval: { min: 1, max: 240, default: 10 },
  timeout: { min: 1, max: 60, default: 5 },
  failures: { min: 1, max: 10, default: 3 },
  pathChars: 1024,
  hostChars: 253,
} as const;

/** The schema of a check in responses and documents. */
export const healthCheckSchema = z.object({
  path: z.string(),
  interval: z.int(),
  timeout: z.int(),
  failures: z.int(),
  host: z.string().exactOptional(),
});

const names = ["path", "interval", "timeout", "failures", "host"];

/** Visible ASCII, because everything else would need an encoding in the request. */
const PATH = /^\/[\x21-\x7e]*$/;
const HOST = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$/i;

const pathProblem = (raw: unknown): string | undefined => {
  if (raw === undefined) return "is required, such as '/healthz'";
  if (typeof raw !== "string" || !PATH.test(raw) || raw.includes("#"))
    return "must begin with '/' and contain only visible ASCII characters without '#'";
  return raw.length > healthLimits.pathChars ? `must be at most ${healthLimits.pathChars} characters` : undefined;
};

const hostProblem = (raw: unknown): string | undefined =>
  raw === undefined || (typeof raw === "string" && raw.length <= healthLimits.hostChars && HOST.test(raw))
    ? undefined
    : "must be a host name, such as 'example.com'";

const numberProblem = (raw: unknown, { min, max }: { readonly min: number; readonly max: number }) =>
  raw === undefined || (Number.isInteger(raw) && (raw as number) >= min && (raw as number) <= max)
    ? undefined
    : `must be an integer from ${min} to ${max}`;

/** The result of reading the field. `value` is meaningful only if `issues` is empty. */
interface ReadHealth {
  readonly value: HealthCheck | null;
  readonly issues: readonly Issue[];
}

/** Reads the deploy field `health`. `null` removes the check. */
export const readHealth = (raw: unknown): ReadHealth => {
  if (raw === null) return { value: null, issues: [] };
  if (typeof raw !== "object" || Array.isArray(raw))
    return {
      value: null,
      issues: [issue([], 'must be an object such as {"path": "/healthz"}, or null', "value_error")],
    };
  const { path, interval, timeout, failures, host } = raw as Readonly<Record<string, unknown>>;
  const { interval: intervals, timeout: timeouts, failures: counts } = healthLimits;
  const problems: [string, string | undefined][] = [
    ["path", pathProblem(path)],
    ["interval", numberProblem(interval, intervals)],
    ["timeout", numberProblem(timeout, timeouts)],
    ["failures", numberProblem(failures, counts)],
    ["host", hostProblem(host)],
  ];
  const issues = [
    ...Object.keys(raw)
      .filter((name) => !names.includes(name))
      .map((name) => unknownField([], name, names)),
    ...problems.flatMap(([name, problem]) => (problem === undefined ? [] : [issue([name], problem, "value_error")])),
  ];
  if (issues.length > 0) return { value: null, issues };
  const seconds = (interval as number | undefined) ?? intervals.default;
  const limit = (timeout as number | undefined) ?? Math.min(timeouts.default, seconds);
  if (limit > seconds)
    return { value: null, issues: [issue(["timeout"], `must be at most the interval (${seconds} s)`, "value_error")] };
  const value = {
    path: path as string,
    interval: seconds,
    timeout: limit,
    failures: (failures as number | undefined) ?? counts.default,
    ...(host === undefined ? {} : { host: host as string }),
  };
  return { value, issues: [] };
};

/** Returns whether a response to a check means that the instance can serve. */
export const isHealthyStatus = (status: number): boolean => status >= 200 && status < 400;

const adjusted = {
  interval: { label: "interval", unit: " s" },
  timeout: { label: "timeout", unit: " s" },
  failures: { label: "failures", unit: "" },
} as const;
const adjustedNames = Object.keys(adjusted) as (keyof typeof adjusted)[];

/**
 * Clamps each number of the check to the provider's range. If the provider requires an interval that exceeds the
 * timeout, raises the interval.
 */
export const fitHealth = (check: HealthCheck, { health }: Pick<Capabilities, "health">): HealthCheck => {
  if (!health.supported || health.ranges === undefined) return check;
  const { ranges } = health;
  const fitted = adjustedNames.map((name) => [
    name,
    Math.min(Math.max(check[name], ranges[name].min), ranges[name].max),
  ]);
  const moved: HealthCheck = { ...check, ...Object.fromEntries(fitted) };
  return { ...moved, interval: Math.max(moved.interval, moved.timeout + (ranges.interval_margin ?? 0)) };
};

/** Returns each number that `fitHealth` changed. */
export const explainHealth = (
  wanted: HealthCheck,
  fitted: HealthCheck,
  { health }: Pick<Capabilities, "health">,
): Adjustment[] =>
  adjustedNames.flatMap((name) => {
    if (wanted[name] === fitted[name]) return [];
    const { label, unit } = adjusted[name];
    const isRaised = fitted[name] > wanted[name];
    const [change, limit] = isRaised ? ["raised", "minimum"] : ["lowered", "maximum"];
    const [from, to] = [`${wanted[name]}${unit}`, `${fitted[name]}${unit}`];
    const ranges = health.supported ? health.ranges : undefined;
    const isLimit = fitted[name] === ranges?.[name][isRaised ? "min" : "max"];
    const why = isLimit ? `the ${limit} of this provider` : "because it must exceed the timeout on this provider";
    const message = `Health check: ${label} ${change} from ${from} to ${to}, ${why}`;
    return [{ field: "health", from: `${label} ${from}`, to: `${label} ${to}`, message }];
  });

/** Returns an issue if the provider cannot check the health of an HTTP/2 service, or cannot send the check's `host`. */
export const healthIssues = (
  { health, useHttp2 }: { readonly health?: HealthCheck | null | undefined; readonly useHttp2: boolean | undefined },
  capabilities: Pick<Capabilities, "health">,
): Issue[] => {
  if (!health || !capabilities.health.supported) return [];
  const { http1_only: http1Only, host } = capabilities.health;
  const http1 = "requires HTTP/1 on this provider; set use_http2 to false, or health to null";
  return [
    ...(useHttp2 && http1Only ? [issue(["health"], http1, "unsupported")] : []),
    ...(health.host !== undefined && host?.supported === false
      ? [issue(["health", "host"], `${host.reason}; omit host`, "unsupported")]
      : []),
  ];
};
