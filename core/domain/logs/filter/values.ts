/** Looks up values at a path, or anywhere in a value. Not recursive, because values may nest deeply. */

/** A value that is neither a list nor an object. */
export type Leaf = string | number | boolean | null;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Flattens nested lists. */
const flat = (values: unknown[]): unknown[] => {
  if (!values.some(Array.isArray)) return values;
  const elements: unknown[] = [];
  const left = values.toReversed();
  while (left.length > 0) {
    const one = left.pop();
    if (Array.isArray(one)) for (let at = one.length - 1; at >= 0; at--) left.push(one[at]);
    else elements.push(one);
  }
  return elements;
};

/** Returns the values at a path. Looks into lists along the path, but returns a list at its end as one value. */
const fieldsAt = (value: unknown, path: readonly string[]): unknown[] => {
  let values = [value];
  for (const part of path)
    values = flat(values).flatMap((one) => (isObject(one) && Object.hasOwn(one, part) ? [one[part]] : []));
  return values;
};

/** Returns true if there is a value at the path, even an empty list. */
export const existsAt = (value: unknown, path: readonly string[]): boolean => fieldsAt(value, path).length > 0;

/** Returns the values at a path, with lists replaced by their elements. Empty if the path does not exist. */
export const valuesAt = (value: unknown, path: readonly string[]): unknown[] => flat(fieldsAt(value, path));

/** Returns true if a leaf in the value passes the test. */
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
