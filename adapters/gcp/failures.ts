/** Maps outages, denied calls and exceeded quotas to deploy failures. */
import type { DeployFailure } from "../../core/domain/deploy/reason.ts";
import { formatMemory } from "../../core/domain/deploy/resources.ts";
import type { Unavailable } from "../../core/errors.ts";
import { codeOf } from "./call-policy.ts";
import { googleFault } from "./errors.ts";

/** gRPC's RESOURCE_EXHAUSTED and HTTP's 429. */
const EXHAUSTED = [8, 429];

export const failureOfUnavailable = ({ cause, message }: Unavailable): DeployFailure => {
  if (EXHAUSTED.includes(codeOf(cause) ?? 0))
    return { reason: "quota_exceeded", message: "The platform's Google Cloud quota is exhausted. Deploy again later." };
  if (googleFault(cause)?.kind === "refused")
    return {
      reason: "permission",
      message: "Google Cloud denied the platform permission. The operator can find the reason in the server's log.",
    };
  return { reason: "provider_unavailable", message };
};

/**
 * Cloud Run compares `max_instances` times the size of an instance with the region's quotas for CPU (in thousandths)
 * and memory (in bytes). Cloud Run's messages:
 * "Max instances must be set to 5 or fewer [...] Quota violated: CpuAllocPerProjectRegion requested: 60000 allowed: 20000"
 * (https://github.com/googlecodelabs/feedback/issues/1856),
 * "For the specified value, maxScale may not exceed 10" (https://github.com/firebase/firebase-tools/pull/5867).
 */
const MAX_INSTANCES = /(?:max instances must be set to|maxScale may not exceed) (\d+)/i;
const VIOLATED = /(\w+)PerProjectRegion requested: (\d+) allowed: (\d+)/g;

const resourceOf = (quota: string, amount: number): string => {
  if (quota.startsWith("CpuAlloc")) return `${amount / 1000} CPU`;
  if (quota.startsWith("MemAlloc")) return `${formatMemory(amount)} of memory`;
  return `${amount} of ${quota}`;
};

/** Returns undefined if the text does not report an exceeded quota of instances. */
export const failureOfQuota = (text: string): DeployFailure | undefined => {
  const violated = [...text.matchAll(VIOLATED)].map(([, quota = "", requested, allowed]) => {
    return `${resourceOf(quota, Number(requested))} requested, ${resourceOf(quota, Number(allowed))} allowed`;
  });
  const found = MAX_INSTANCES.exec(text)?.slice(1).find(Boolean);
  if (violated.length === 0 && found === undefined) return undefined;
  const max = Number(found ?? 0);
  const advice = max > 0 ? `Declare max_instances ${max} or less, or` : "Declare";
  const amounts = violated.length === 0 ? "" : ` (${violated.join("; ")})`;
  return {
    reason: "quota_exceeded",
    message:
      `The service's instances together exceed the region's Cloud Run quota${amounts}. ` +
      `${advice} less CPU or memory. The platform's operator can request a higher quota.`,
  };
};
