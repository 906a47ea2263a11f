/** Collects the fields of log entries with their values, for completion in an editor of filters. */
import { z } from "zod";
import type { LogEntry } from "./entry.ts";
import { printPath } from "./filter/print.ts";
import { recordOf } from "./filter/record.ts";
import type { FieldPath } from "./filter/tree.ts";
import type { Leaf } from "./filter/values.ts";

export const logValuesSchema = z
  .object({
    fields: z.array(
      z.object({
        name: z.string().meta({ description: "The field, as a filter names it.", examples: ["jsonPayload.user"] }),
        entries: z.int().meta({ description: "The number of examined entries that have the field." }),
        values: z.array(
          z.object({
            value: z.union([z.string(), z.number(), z.boolean(), z.null()]),
            entries: z.int().meta({ description: "The number of examined entries with this value." }),
          }),
        ),
        complete: z.boolean().meta({ description: "False if the field has further values." }),
      }),
    ),
    examined: z.int().meta({ description: "The number of matching entries that were examined, newest first." }),
    partial: z.boolean().meta({ description: "True if there may be further matching entries." }),
  })
  .readonly();

/** The fields of log entries with their values. */
export type LogValues = z.output<typeof logValuesSchema>;

export interface ValueRequest {
  /** The only field to list, as `printPath` prints it. Absent: all fields. */
  readonly field?: string | undefined;
  /** List only values that begin with this text. Ignores letter case. */
  readonly prefix: string;
  /** Maximum number of values of a field. */
  readonly limit: number;
}

const MAX_FIELDS = 200;
/** Maximum number of distinct values to count for a field. */
const MAX_VALUES = 1000;
/** Longer values are not useful for completion. */
const MAX_VALUE_CHARS = 200;

/** Maximum number of leaves to examine in an entry. A line of a service may contain any number of leaves. */
const MAX_LEAVES = 1000;
/** Longer paths are not useful for completion. */
const MAX_PATH_CHARS = 200;

/** Fields whose values are different in almost every entry. */
const uniqueFields: ReadonlySet<string> = new Set(["timestamp", "insertId", "textPayload"]);

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const lengthOf = (path: readonly string[]): number => path.reduce((chars, key) => chars + key.length + 1, 0);

/** Returns the first members of an object whose paths are not too long. */
const membersOf = (
  value: Readonly<Record<string, unknown>>,
  path: readonly string[],
  count: number,
): readonly [string[], unknown][] => {
  const most = MAX_PATH_CHARS - lengthOf(path);
  const members: [string[], unknown][] = [];
  for (const key of Object.keys(value)) {
    if (members.length === count) break;
    if (key.length <= most) members.push([[...path, key], value[key]]);
  }
  return members;
};

/**
 * Yields the path and the value of each leaf, up to `MAX_LEAVES`. Skips paths longer than `MAX_PATH_CHARS`. An element
 * of a list has the path of the list.
 */
function* leavesOf(record: object): Generator<readonly [FieldPath, Leaf]> {
  // Not recursive, because values may nest deeply.
  const left: [string[], unknown][] = [[[], record]];
  let room = MAX_LEAVES;
  for (let next = left.pop(); next !== undefined && room > 0; next = left.pop()) {
    const [path, value] = next;
    if (Array.isArray(value)) for (const element of value.slice(0, room).toReversed()) left.push([path, element]);
    else if (isObject(value)) left.push(...membersOf(value, path, room).toReversed());
    else if (value !== undefined) {
      room -= 1;
      yield [path as unknown as FieldPath, value as Leaf];
    }
  }
}

interface CountedField {
  entries: number;
  readonly values: Map<Leaf, number>;
  isComplete: boolean;
}

const byCount = ([a, m]: readonly [Leaf, number], [b, n]: readonly [Leaf, number]): number =>
  n - m || (String(a) < String(b) ? -1 : 1);

/** Counts the fields of entries and their values. */
export class FieldValues {
  readonly #request: ValueRequest;
  readonly #fields = new Map<string, CountedField>();
  #examined = 0;

  constructor(request: ValueRequest) {
    this.#request = request;
  }

  add(entry: LogEntry): void {
    this.#examined += 1;
    const seen = new Map<string, Set<Leaf>>();
    for (const [path, value] of leavesOf(recordOf(entry))) {
      const name = printPath(path);
      if (this.#request.field !== undefined && name !== this.#request.field) continue;
      const values = seen.get(name) ?? new Set<Leaf>();
      seen.set(name, values.add(value));
    }
    for (const [name, values] of seen) this.#count(name, values);
  }

  #count(name: string, values: ReadonlySet<Leaf>): void {
    const field = this.#fields.get(name) ?? { entries: 0, values: new Map<Leaf, number>(), isComplete: true };
    if (!this.#fields.has(name) && this.#fields.size === MAX_FIELDS) return;
    this.#fields.set(name, field);
    field.entries += 1;
    for (const value of values) {
      const text = String(value);
      const isListed =
        !uniqueFields.has(name) &&
        text.length <= MAX_VALUE_CHARS &&
        (field.values.has(value) || field.values.size < MAX_VALUES);
      if (!isListed) field.isComplete = false;
      else if (text.toLowerCase().startsWith(this.#request.prefix.toLowerCase()))
        field.values.set(value, (field.values.get(value) ?? 0) + 1);
    }
  }

  /** @param partial whether there may be further matching entries */
  list(partial: boolean): LogValues {
    const { limit } = this.#request;
    const fields = [...this.#fields].map(([name, { entries, values, isComplete }]) => ({
      name,
      entries,
      values: [...values]
        .sort(byCount)
        .slice(0, limit)
        .map(([value, count]) => ({ value, entries: count })),
      complete: isComplete && values.size <= limit,
    }));
    fields.sort((a, b) => b.entries - a.entries || (a.name < b.name ? -1 : 1));
    return { fields, examined: this.#examined, partial };
  }
}
