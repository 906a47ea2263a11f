/** The token buckets with which ECS and Elastic Load Balancing limit an account's calls in a region. */
import type { Message, Methods } from "./protocols.ts";
import { AwsError } from "./server.ts";

interface Bucket {
  readonly actions: RegExp;
  readonly capacity: number;
  readonly perSecond: number;
}

/**
 * https://docs.aws.amazon.com/AmazonECS/latest/APIReference/request-throttling.html, "Request Token Bucket Sizes and
 * Refill Rates"
 */
export const ecsBuckets: readonly Bucket[] = [
  { actions: /^(Deregister|Register)TaskDefinition$/, capacity: 20, perSecond: 1 },
  { actions: /^(DescribeTaskDefinition|ListTaskDefinitions)$/, capacity: 50, perSecond: 20 },
  { actions: /^DeleteTaskDefinitions$/, capacity: 5, perSecond: 1 },
  { actions: /^(Create|Delete|Update)Service$/, capacity: 50, perSecond: 5 },
  { actions: /^(DescribeServices|ListServices)$/, capacity: 100, perSecond: 20 },
  { actions: /^(DescribeTasks|ListTasks)$/, capacity: 100, perSecond: 20 },
  { actions: /^DescribeClusters$/, capacity: 50, perSecond: 20 },
];

/**
 * https://docs.aws.amazon.com/elasticloadbalancing/latest/userguide/elb-api-throttling.html: "an account-level
 * throttling limit that is shared across all Elastic Load Balancing API actions", and buckets by category.
 */
export const balancerBuckets: readonly Bucket[] = [
  { actions: /./, capacity: 40, perSecond: 10 },
  { actions: /^Describe/, capacity: 40, perSecond: 10 },
  { actions: /^(Create|Modify|Delete)/, capacity: 20, perSecond: 3 },
];

/** Wraps methods so that calls beyond the rates fail. @param now the time in milliseconds */
export const limitRates = (buckets: readonly Bucket[], isOn: boolean, now: () => number) => {
  const left = buckets.map(({ capacity }) => ({ tokens: capacity, at: now() }));
  const refused: string[] = [];

  const refill = (index: number, { capacity, perSecond }: Bucket): number => {
    const bucket = left[index] as { tokens: number; at: number };
    bucket.tokens = Math.min(capacity, bucket.tokens + ((now() - bucket.at) / 1000) * perSecond);
    bucket.at = now();
    return bucket.tokens;
  };

  const admit = (action: string): void => {
    const ofAction = buckets.flatMap((bucket, index) => (bucket.actions.test(action) ? [index] : []));
    if (ofAction.some((index) => refill(index, buckets[index] as Bucket) < 1)) {
      refused.push(action);
      throw new AwsError("ThrottlingException", "Rate exceeded");
    }
    for (const index of ofAction) (left[index] as { tokens: number }).tokens -= 1;
  };

  const limited = (methods: Methods): Methods =>
    Object.fromEntries(
      Object.entries(methods).map(([action, act]) => [
        action,
        (input: Message) => {
          if (isOn) admit(action);
          return act(input);
        },
      ]),
    );
  return { limited, refused: refused as readonly string[] };
};
