/**
 * Renders the probes of a container: Probe in run/v2/k8s.min.proto. Pure functions.
 *
 * https://docs.cloud.google.com/run/docs/configuring/healthchecks describes them.
 */
import type { protos } from "@google-cloud/run";
import { type HealthCheck, healthLimits } from "../../../core/domain/deploy/health.ts";
import type { ServiceTemplate } from "../../../core/domain/deploy/service-template.ts";

type Container = Parameters<(typeof protos.google.cloud.run.v2)["Container"]["create"]>[0] & object;

export interface ProbeSettings {
  /** Milliseconds within which the service must listen, or pass its health check. */
  readonly listenDeadlineMs: number;
  /** Limit of a startup probe in seconds; defaults to the documented limit. */
  readonly probeSeconds?: number;
}

/**
 * Limits of a startup probe in seconds: a period of at most 240 (k8s.min.proto). For `failureThreshold` *
 * `periodSeconds`, https://docs.cloud.google.com/run/docs/configuring/healthchecks states 600, and
 * https://docs.cloud.google.com/run/docs/container-contract states four minutes.
 */
export const PROBE_SECONDS = { period: 240, documented: 600 };

/**
 * The ranges that startup and liveness probes have in common. A startup probe allows 1 to 240 s, a liveness probe up to
 * 3600 s. The documentation states no maximum for the threshold, so its range is the core's.
 */
export const probeRanges = {
  interval: { min: 1, max: PROBE_SECONDS.period },
  timeout: { min: 1, max: PROBE_SECONDS.period },
  failures: { min: healthLimits.failures.min, max: healthLimits.failures.max },
};

type Probe = NonNullable<Container["startupProbe"]>;

/** The request of a probe: HTTPGetAction in k8s.min.proto. */
const requestOf = ({ path, host }: HealthCheck, port: number): Probe => ({
  httpGet: { path, port, ...(host === undefined ? {} : { httpHeaders: [{ name: "Host", value: host }] }) },
});

/**
 * The probe that a revision must pass before it gets traffic. A TCP probe uses few long attempts, like Cloud Run's
 * default probe, because Cloud Run retries a refused connection within an attempt. An HTTP probe does not retry, so it
 * uses the shortest period that the check's timeout permits.
 */
export const startupProbeOf = (
  { port, health }: ServiceTemplate,
  { listenDeadlineMs, probeSeconds = PROBE_SECONDS.documented }: ProbeSettings,
): Probe => {
  const seconds = Math.min(Math.max(Math.ceil(listenDeadlineMs / 1000), 1), probeSeconds);
  if (health !== undefined) {
    const periodSeconds = Math.min(health.timeout, seconds);
    const failureThreshold = Math.floor(seconds / periodSeconds);
    return { ...requestOf(health, port), timeoutSeconds: periodSeconds, periodSeconds, failureThreshold };
  }
  const failureThreshold = Math.ceil(seconds / PROBE_SECONDS.period);
  const periodSeconds = Math.ceil(seconds / failureThreshold);
  return { tcpSocket: { port }, timeoutSeconds: periodSeconds, periodSeconds, failureThreshold };
};

/**
 * The liveness probe: Cloud Run replaces an instance that fails it. Keeps a probe that was set by hand if neither
 * declaration has a check.
 */
export const livenessProbeOf = (
  { port, health }: ServiceTemplate,
  present: Container | undefined,
  former: ServiceTemplate | undefined,
): { livenessProbe?: Probe } => {
  if (health !== undefined) {
    const { interval: periodSeconds, timeout: timeoutSeconds, failures: failureThreshold } = health;
    return { livenessProbe: { ...requestOf(health, port), periodSeconds, timeoutSeconds, failureThreshold } };
  }
  const byHand = former?.health === undefined ? present?.livenessProbe : undefined;
  return byHand ? { livenessProbe: byHand } : {};
};
