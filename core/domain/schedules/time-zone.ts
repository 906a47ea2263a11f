/**
 * The clocks of an IANA time zone: how far they are from UTC, and when they are changed.
 *
 * Moments are whole seconds since 1970, offsets are seconds east of UTC. The data is the runtime's copy of the tz
 * database: https://www.iana.org/time-zones
 */

/** A formatter takes 70 microseconds to make and 1 to use. Names come from clients, in any case, so they are bounded. */
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

/** `GMT`, `GMT+05:30`, and with seconds where a zone still kept its own mean time: `GMT-00:44:30`. */
const LONG_OFFSET = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/;

/** The offset of a zone at a moment. Throws a RangeError for a zone that this runtime does not know. */
export const offsetAt = (zone: string, second: number): number => {
  const text = formatterOf(zone).format(second * 1000);
  const [, sign, hours = 0, minutes = 0, seconds = 0] = LONG_OFFSET.exec(text) as RegExpExecArray;
  const offset = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  return sign === "-" ? -offset : offset;
};

/**
 * The first second after `from`, and at most `to`, at which the offset is another than at `from`.
 * The two are to be days apart at most: a zone changes its clocks once in such a time, so equal ends mean no change.
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
