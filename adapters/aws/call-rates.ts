/**
 * Keeps the calls of rollouts below AWS's rate limits, which apply per account and region. Each call waits for its
 * turn, in order of arrival. AWS rejects calls above a limit, and the retries of rejected calls would delay each other.
 */
import { millisOf } from "../../core/domain/wire/instant.ts";
import type { Clock } from "../../core/ports/system.ts";
import type { ProviderCall } from "../cloud/calls/provider-call.ts";

/** A token bucket: its capacity in calls, and its refill rate. */
interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}

const rates = {
  // https://docs.aws.amazon.com/AmazonECS/latest/APIReference/request-throttling.html
  definitionWrites: { burst: 20, perSecond: 1 },
  definitionReads: { burst: 50, perSecond: 20 },
  definitionDeletions: { burst: 5, perSecond: 1 },
  serviceWrites: { burst: 50, perSecond: 5 },
  serviceReads: { burst: 100, perSecond: 20 },
  taskReads: { burst: 100, perSecond: 20 },
  // All actions share 10 calls per second and a burst of 40:
  // https://docs.aws.amazon.com/elasticloadbalancing/latest/userguide/elb-api-throttling.html
  balancerReads: { burst: 20, perSecond: 7 },
  balancerWrites: { burst: 20, perSecond: 3 },
} as const satisfies Record<string, Rate>;

type RateName = keyof typeof rates;

const ecsRates: Readonly<Record<string, RateName>> = {
  RegisterTaskDefinition: "definitionWrites",
  DeregisterTaskDefinition: "definitionWrites",
  DescribeTaskDefinition: "definitionReads",
  ListTaskDefinitions: "definitionReads",
  DeleteTaskDefinitions: "definitionDeletions",
  CreateService: "serviceWrites",
  DeleteService: "serviceWrites",
  DescribeServices: "serviceReads",
  ListTasks: "taskReads",
  DescribeTasks: "taskReads",
};

/** Returns the name of the rate that limits a call. Returns undefined for a call without a rate. */
const rateOf = (what: string): RateName | undefined => {
  const [service, action = ""] = what.split(".");
  if (service === "elbv2") return action.startsWith("Describe") ? "balancerReads" : "balancerWrites";
  return service === "ecs" ? ecsRates[action] : undefined;
};

/** The share of each burst that this process uses. Other replicas, the AWS console and delayed calls use the rest. */
const SHARE_OF_BURST = 0.5;

/** Default maximum wait of a call for its turn, in milliseconds. */
const TURN_MS = 10_000;

/** Creates an error that counts as throttling. */
const tooLong = (what: string, millis: number): Error => {
  const error = new Error(`${what} would wait ${Math.ceil(millis / 1000)} s for its turn`);
  return Object.assign(error, { name: "ThrottlingException" });
};

/**
 * Returns a function that keeps calls within AWS's rates. A call that would wait too long fails as if AWS had throttled
 * it.
 */
export const pacedCalls = (call: ProviderCall, clock: Clock): ProviderCall => {
  /** When each bucket will be full again if no more calls arrive, in milliseconds. */
  const fullAt = new Map<RateName, number>();

  /** Returns the milliseconds until the bucket has a token. */
  const waitOf = (name: RateName, now: number): number => {
    const { burst, perSecond } = rates[name];
    const capacityMs = (Math.floor(burst * SHARE_OF_BURST) - 1) * (1000 / perSecond);
    return Math.max(0, (fullAt.get(name) ?? 0) - now - capacityMs);
  };

  const turn = async (what: string, maxMs: number, signal: AbortSignal | undefined): Promise<void> => {
    const name = rateOf(what);
    if (name === undefined) return;
    const now = millisOf(clock.now());
    const wait = waitOf(name, now);
    if (wait > maxMs) throw tooLong(what, wait);
    fullAt.set(name, Math.max(fullAt.get(name) ?? 0, now) + 1000 / rates[name].perSecond);
    if (wait > 0) await clock.sleep(wait, signal);
  };

  return (needs, send) => {
    const { what, timeoutMs = TURN_MS, turnMs = timeoutMs, signal } = needs;
    return call(needs, async () => {
      await turn(what, turnMs, signal);
      return send();
    });
  };
};
