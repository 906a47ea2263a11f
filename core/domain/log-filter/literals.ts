/** What the text of a literal means, by the type of the value that it is compared with. */
import { type Instant, parseInstant } from "../instant.ts";
import { severities } from "../log-entry.ts";

/** An RFC 3339 date-time; a date alone is its midnight, UTC. */
export const timeOf = (text: string): Instant | undefined =>
  parseInstant(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text);

/** The rank of a severity by its name, in any case, or by its number. */
export const severityRank = (text: string): number | undefined => {
  const name = text.toUpperCase();
  if (Object.hasOwn(severities, name)) return severities[name as keyof typeof severities];
  return /^\d{1,4}$/.test(text) ? Number(text) : undefined;
};

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

export const numberOf = (text: string): number | undefined => (NUMBER.test(text) ? Number(text) : undefined);

export const truthOf = (text: string): boolean | undefined => {
  const word = text.toLowerCase();
  return word === "true" ? true : word === "false" ? false : undefined;
};

const units = new Map([
  ["d", 86_400],
  ["h", 3600],
  ["m", 60],
  ["s", 1],
  ["ms", 1e-3],
  ["us", 1e-6],
  ["ns", 1e-9],
]);

/** Seconds of a duration, such as `3.2s` or `200ms`. */
export const durationOf = (text: string): number | undefined => {
  const match = /^(-?\d+(?:\.\d+)?)(d|h|m|s|ms|us|ns)$/.exec(text);
  return match === null ? undefined : Number(match[1]) * (units.get(match[2] as string) as number);
};

/**
 * Text as it is compared: compatible characters made one, case dropped. By way of capitals, because small letters
 * of one meaning may differ (final sigma, sharp s).
 * https://www.unicode.org/reports/tr31/#NFKC_Modifications
 */
export const fold = (text: string): string =>
  /^\p{ASCII}*$/u.test(text)
    ? text.toUpperCase()
    : text.normalize("NFKC").toLowerCase().toUpperCase().normalize("NFKC");
