/** What stands at a path in a value, and all that stands anywhere in it. Without recursion: values may nest deep. */

/** A value that is no list and no object. */
export type Leaf = string | number | boolean | null;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The values, those that are lists replaced by their elements, and these likewise. */
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

/** What stands at a path, lists as they are; a list on the way stands for each of its elements. */
const fieldsAt = (value: unknown, path: readonly string[]): unknown[] => {
  let values = [value];
  for (const part of path)
    values = flat(values).flatMap((one) => (isObject(one) && Object.hasOwn(one, part) ? [one[part]] : []));
  return values;
};

/** True where something stands at a path, be it an empty list. */
export const standsAt = (value: unknown, path: readonly string[]): boolean => fieldsAt(value, path).length > 0;

/** The values at a path; a list at its end, too, stands for each of its elements. None where it is missing. */
export const valuesAt = (value: unknown, path: readonly string[]): unknown[] => flat(fieldsAt(value, path));

/** True where some leaf in the value passes. */
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
