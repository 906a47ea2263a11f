/**
 * One health check of the fake load balancer: a GET request that passes with a status of the group's matcher.
 * https://docs.aws.amazon.com/elasticloadbalancing/latest/application/target-group-health-checks.html
 */
import type { Message } from "../protocols.ts";

/** Why a target failed its check. */
export interface TargetDetail {
  readonly Reason: string;
  readonly Description: string;
}

/** Codes and ranges such as `200,202` or `200-299` (Matcher). */
const matches = (matcher: string, status: number): boolean =>
  matcher.split(",").some((part) => {
    const [from = "", to = from] = part.split("-");
    return status >= Number(from) && status <= Number(to);
  });

/**
 * Returns undefined if the target passed. The descriptions are from the EC2 console; the API documents only the
 * reasons.
 */
export const checkHealth = async (url: string, group: Message): Promise<TargetDetail | undefined> => {
  const { HealthCheckPath: path = "/", HealthCheckTimeoutSeconds: seconds = 5, Matcher } = group;
  try {
    const response = await fetch(new URL(path, url), {
      redirect: "manual",
      headers: { "user-agent": "ELB-HealthChecker/2.0", connection: "close" },
      signal: AbortSignal.timeout(Number(seconds) * 1000),
    });
    await response.body?.cancel();
    if (matches(Matcher?.HttpCode ?? "200", response.status)) return undefined;
    return {
      Reason: "Target.ResponseCodeMismatch",
      Description: `Health checks failed with these codes: [${response.status}]`,
    };
  } catch (error) {
    return error instanceof Error && error.name === "TimeoutError"
      ? { Reason: "Target.Timeout", Description: "Request timed out" }
      : { Reason: "Target.FailedHealthChecks", Description: "Health checks failed" };
  }
};
