/** What stands at a path in a value, and all that stands anywhere in it. */

/** A value that is no list and no object. */
export type Leaf = string | number | boolean | null;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The values at a path; a list on the way or at its end stands for each of its elements. None where it is missing. */
export const valuesAt = (value: unknown, path: readonly string[]): unknown[] => {
  let values = [value];
  for (const part of path)
    values = values
      .flat(Number.POSITIVE_INFINITY)
      .flatMap((value) => (isObject(value) && Object.hasOwn(value, part) ? [value[part]] : []));
  return values.flat(Number.POSITIVE_INFINITY);
};

/** True where some leaf in the value passes. Without recursion, for a line may nest as deep as it likes. */
export const someLeaf = (value: unknown, test: (leaf: Leaf) => boolean): boolean => {
  const left: unknown[] = [value];
  while (left.length > 0) {
    const one = left.pop();
    if (Array.isArray(one)) for (const element of one) left.push(element);
    else if (isObject(one)) for (const key in one) left.push(one[key]);
    else if (one !== undefined && test(one as Leaf)) return true;
  }
  return false;
};
