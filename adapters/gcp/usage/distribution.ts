/**
 * Distributions of Cloud Monitoring. Bucket 0 is the underflow, and the last bucket the overflow. Google's JSON omits
 * empty buckets at the end. https://docs.cloud.google.com/monitoring/api/ref_v3/rest/v3/TypedValue#distribution. Pure.
 */

interface BucketOptions {
  readonly linearBuckets?: { readonly numFiniteBuckets?: number; readonly width?: number; readonly offset?: number };
  readonly exponentialBuckets?: {
    readonly numFiniteBuckets?: number;
    readonly growthFactor?: number;
    readonly scale?: number;
  };
  readonly explicitBuckets?: { readonly bounds?: readonly number[] };
}

export interface Distribution {
  /** An int64, as text. */
  readonly count?: string;
  readonly mean?: number;
  readonly bucketOptions?: BucketOptions;
  readonly bucketCounts?: readonly string[];
}

const boundsOf = ({ linearBuckets, exponentialBuckets, explicitBuckets }: BucketOptions): readonly number[] => {
  if (explicitBuckets !== undefined) return explicitBuckets.bounds ?? [];
  const { numFiniteBuckets = 0 } = exponentialBuckets ?? linearBuckets ?? {};
  const { growthFactor = 1, scale = 1 } = exponentialBuckets ?? {};
  const { width = 1, offset = 0 } = linearBuckets ?? {};
  return Array.from({ length: numFiniteBuckets + 1 }, (_, index) =>
    exponentialBuckets === undefined ? offset + width * index : scale * growthFactor ** index,
  );
};

/**
 * Returns each bucket with values: the number of values, and the upper bound. For the overflow bucket, which has no
 * upper bound, returns its lower bound.
 */
export const bucketsOf = ({ bucketOptions = {}, bucketCounts = [] }: Distribution): (readonly [number, number])[] => {
  const bounds = boundsOf(bucketOptions);
  return bucketCounts.flatMap((text, index) => {
    const count = Number(text);
    return count > 0 ? [[count, bounds[index] ?? bounds.at(-1) ?? 0] as const] : [];
  });
};

export const countOf = ({ count = "0" }: Distribution): number => Number(count);
