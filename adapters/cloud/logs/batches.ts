/** Splits items into batches that fit one request of a cloud. An item over `maxSize` gets its own batch. */
export interface BatchLimits<T> {
  readonly sizeOf: (item: T) => number;
  readonly maxSize: number;
  readonly maxItems: number;
}

export const batchesOf = <T>(
  items: readonly T[],
  { sizeOf, maxSize, maxItems }: BatchLimits<T>,
): readonly (readonly T[])[] => {
  const batches: T[][] = [];
  let size = 0;
  for (const item of items) {
    size += sizeOf(item);
    const last = batches.at(-1);
    if (last !== undefined && size <= maxSize && last.length < maxItems) last.push(item);
    else {
      batches.push([item]);
      size = sizeOf(item);
    }
  }
  return batches;
};
