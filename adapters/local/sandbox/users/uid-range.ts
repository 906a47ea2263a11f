/** The range of uids and gids for accounts. Pure. */

export interface UidRange {
  readonly from: number;
  readonly to: number;
}

/** System users have lower uids: https://systemd.io/UIDS-GIDS/ */
const LOWEST = 1000;
/** Some tools read a uid as a signed 32-bit number. */
const HIGHEST = 2 ** 31 - 1;
/** The dynamic users of systemd, `nobody`, and 65535, which is -1 as a 16-bit number. */
const RESERVED: UidRange = { from: 61_184, to: 65_535 };

const overlap = (one: UidRange, other: UidRange): boolean => one.from <= other.to && other.from <= one.to;

/** Parses `FROM-TO`. Returns a string with the reason if it is invalid. */
export const readUidRange = (text: string): UidRange | string => {
  const match = /^(\d{1,10})-(\d{1,10})$/.exec(text);
  if (match === null) return "must be FROM-TO, such as 2100000000-2100999999";
  const range = { from: Number(match[1]), to: Number(match[2]) };
  if (range.from > range.to) return "must begin with the lower number";
  if (range.from < LOWEST) return `must not begin below ${LOWEST}, where the system's own users are`;
  if (range.to > HIGHEST) return `must not end above ${HIGHEST}`;
  if (overlap(range, RESERVED))
    return `must not contain any of ${RESERVED.from}-${RESERVED.to}, which the system reserves`;
  return range;
};

/** Splits the lines of a file such as /etc/passwd at colons. Skips lines with too few parts. */
const entries = (text: string, parts: number): string[][] =>
  text
    .split("\n")
    .map((line) => line.split(":"))
    .filter((fields) => fields.length >= parts);

/**
 * Describes the users and groups that already have ids in the range.
 * @param passwd the text of /etc/passwd or /etc/group
 * @param subordinate the text of /etc/subuid or /etc/subgid
 */
export const holdersWithin = (range: UidRange, passwd: string, subordinate: string): string[] => [
  ...entries(passwd, 3)
    .filter(([, , id]) => /^\d+$/.test(id as string) && overlap(range, { from: Number(id), to: Number(id) }))
    .map(([name, , id]) => `'${name}' (${id})`),
  ...entries(subordinate, 3).flatMap(([name, first, count]) => {
    const held = { from: Number(first), to: Number(first) + Number(count) - 1 };
    return overlap(range, held) ? [`the containers of '${name}' (${held.from}-${held.to})`] : [];
  }),
];

/**
 * Returns the first free number of the range, or undefined. The search wraps around at the end of the range.
 * @param start the offset at which the search starts, a non-negative integer
 */
export const freeUid = (range: UidRange, start: number, isTaken: (uid: number) => boolean): number | undefined => {
  const size = range.to - range.from + 1;
  for (let step = 0; step < size; step++) {
    const uid = range.from + ((start + step) % size);
    if (!isTaken(uid)) return uid;
  }
  return undefined;
};
