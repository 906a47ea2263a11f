/**
 * UTC offsets and clock changes of an IANA time zone.
 *
 * Moments are whole seconds since 1970. Offsets are seconds east of UTC. The data is the runtime's copy of the tz
 * database: https://www.iana.org/time-zones
 */

/** Bounds the cache, because clients choose the names. A formatter takes 70 µs to create, and 1 µs to use. */
const KEPT = 500;
const formatters = new Map<string, Intl.DateTimeFormat>();

const formatterOf = (zone: string): Intl.DateTimeFormat => {
  const kept = formatters.get(zone);
  if (kept !== undefined) return kept;
  const made = new Intl.DateTimeFormat("en-US", { timeZone: zone, hour: "numeric", timeZoneName: "longOffset" });
  if (formatters.size >= KEPT) formatters.clear();
  formatters.set(zone, made);
  return made;
};

/** `GMT`, `GMT+05:30`, or with seconds for times when the zone used local mean time, such as `GMT-00:44:30`. */
const LONG_OFFSET = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/;

/** Returns the offset of a zone at a moment, in seconds. Throws a RangeError if this runtime lacks the zone. */
export const offsetAt = (zone: string, second: number): number => {
  const text = formatterOf(zone).format(second * 1000);
  const [, sign, hours = 0, minutes = 0, seconds = 0] = LONG_OFFSET.exec(text) as RegExpExecArray;
  const offset = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  return sign === "-" ? -offset : offset;
};

/**
 * Returns the first second after `from`, up to `to`, whose offset differs from the offset at `from`; undefined if the
 * offset does not change. `from` and `to` must be at most a few days apart. The search assumes that a zone changes its
 * clocks at most once in that time, so equal offsets mean no change.
 */
export const clockChange = (zone: string, from: number, to: number): number | undefined => {
  const before = offsetAt(zone, from);
  if (offsetAt(zone, to) === before) return undefined;
  let [low, high] = [from, to];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(zone, middle) === before) low = middle;
    else high = middle;
  }
  return high;
};
