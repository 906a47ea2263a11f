/** The capabilities of a platform as rows of a table. */

export interface CapabilityRow {
  /** The path of the member, such as `volumes.mounts`. */
  readonly name: string;
  /** Whether the platform supports the feature; undefined for a setting. */
  readonly supported: boolean | undefined;
  /** The note, the reason or the value. */
  readonly text: string;
}

type Members = Readonly<Record<string, unknown>>;

const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const textOf = (value: unknown): string =>
  Array.isArray(value) && value.every((one) => typeof one !== "object")
    ? value.join(", ")
    : typeof value === "string"
      ? value
      : JSON.stringify(value);

const rowsOf = (name: string, value: unknown): readonly CapabilityRow[] => {
  if (!isMembers(value)) return [{ name, supported: undefined, text: textOf(value) }];
  const { supported, note, reason, ...others } = value;
  const nested = Object.entries(others).flatMap(([member, inner]) => rowsOf(`${name}.${member}`, inner));
  if (typeof supported !== "boolean") return nested;
  const text = supported ? note : reason;
  return [{ name, supported, text: typeof text === "string" ? text : "" }, ...nested];
};

/** Returns a row for each feature and each setting. Omits the members that `except` names. */
export const capabilityRows = (capabilities: Members, except: readonly string[]): readonly CapabilityRow[] =>
  Object.entries(capabilities)
    .filter(([name]) => !except.includes(name))
    .flatMap(([name, value]) => rowsOf(name, value));
