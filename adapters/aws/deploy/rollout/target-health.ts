/**
 * Explains why a revision failed if the load balancer does not report its targets as healthy. The reason is `unhealthy`
 * if the service declares a health check. Otherwise, the check at `/` only shows whether the service listens. Pure.
 */
import type { Service } from "@aws-sdk/client-ecs";
import type { TargetHealthDescription } from "@aws-sdk/client-elastic-load-balancing-v2";
import type { DeployFailure } from "../../../../core/domain/deploy/reason.ts";
import type { ServiceTemplate } from "../../../../core/domain/deploy/service-template.ts";

/**
 * Returns the description and the reason code of an unhealthy target, such as `Health checks failed with these codes:
 * [503] (Target.ResponseCodeMismatch)`:
 * https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_TargetHealth.html
 */
const problemOfTargets = (targets: readonly TargetHealthDescription[]): string | undefined => {
  const found = targets.find(({ TargetHealth }) => TargetHealth?.State === "unhealthy")?.TargetHealth;
  if (found === undefined) return undefined;
  const { Description, Reason } = found;
  if (Description === undefined) return Reason;
  return Reason === undefined ? Description : `${Description} (${Reason})`;
};

/** https://docs.aws.amazon.com/AmazonECS/latest/developerguide/service-unhealthy-event-messages.html */
const UNHEALTHY_EVENT = /is unhealthy in .*due to \(reason (.+)\)/;

/** Returns the reason in the newest event about an unhealthy task. ECS keeps the event after it has ended the task. */
const problemOfEvents = ({ events = [] }: Pick<Service, "events">): string | undefined =>
  events.flatMap(({ message }) => UNHEALTHY_EVENT.exec(message ?? "")?.[1] ?? []).at(0);

/**
 * @param targets the revision's targets; ECS deregisters a target when it stops the target's task
 * @param service the revision's ECS service
 */
export const failureOfChecks = (
  { port, health }: Pick<ServiceTemplate, "port" | "health">,
  targets: readonly TargetHealthDescription[],
  service: Pick<Service, "events">,
): DeployFailure => {
  if (health === undefined)
    return {
      reason: "did_not_listen",
      message: `The service did not respond over HTTP on port ${port} in time, or responded at '/' with a status of 500 or above. Listen on 0.0.0.0 and the port in PORT.`,
    };
  const problem = problemOfTargets(targets) ?? problemOfEvents(service) ?? "no response yet";
  return {
    reason: "unhealthy",
    message: `The health check GET ${health.path} on port ${port} did not pass in time. The load balancer reports: ${problem}. Respond with a status from 200 to 399, or correct the check.`,
  };
};
