/** Formats times, durations and numbers. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Returns a duration with at most two units, such as `1 min 5 s`. */
export const formatDuration = (millis: number): string => {
  if (millis < 950) return `${Math.max(0, Math.round(millis))} ms`;
  if (millis < 10 * SECOND) return `${(millis / SECOND).toFixed(1)} s`;
  const total = Math.floor(millis / SECOND);
  if (total < 60) return `${total} s`;
  if (millis < HOUR) return `${Math.floor(total / 60)} min ${total % 60} s`;
  const minutes = Math.floor(millis / MINUTE);
  return millis < DAY
    ? `${Math.floor(minutes / 60)} h ${minutes % 60} min`
    : `${Math.floor(millis / DAY)} d ${Math.floor((millis % DAY) / HOUR)} h`;
};

/** Returns how long ago or how far ahead a time is, such as `5 min ago` or `in 2 h`. */
export const formatRelative = (millis: number, now: number): string => {
  const distance = Math.abs(now - millis);
  if (distance < 10 * SECOND) return "now";
  const [size, unit] =
    distance < MINUTE ? [SECOND, "s"] : distance < HOUR ? [MINUTE, "min"] : distance < DAY ? [HOUR, "h"] : [DAY, "d"];
  const words = `${Math.floor(distance / (size as number))} ${unit}`;
  return millis <= now ? `${words} ago` : `in ${words}`;
};

const pad = (value: number, length = 2): string => String(value).padStart(length, "0");

/** Returns a date and a time to the second, in UTC or in the browser's time zone. */
export const formatTime = (millis: number, utc: boolean): string => {
  const date = new Date(utc ? millis : millis - new Date(millis).getTimezoneOffset() * MINUTE);
  const day = `${date.getUTCFullYear()}-${pad(date.getUTCMonth() + 1)}-${pad(date.getUTCDate())}`;
  return `${day} ${pad(date.getUTCHours())}:${pad(date.getUTCMinutes())}:${pad(date.getUTCSeconds())}`;
};

/** Returns a time of day to the millisecond. */
export const formatClock = (millis: number, utc: boolean): string =>
  `${formatTime(millis, utc).slice(11)}.${pad(((millis % SECOND) + SECOND) % SECOND, 3)}`;

const sizes = ["B", "KiB", "MiB", "GiB", "TiB"];

/** Returns a size with a binary unit, such as `1.5 MiB`. */
export const formatBytes = (bytes: number): string => {
  let value = bytes;
  let unit = 0;
  for (; Math.abs(value) >= 1024 && unit < sizes.length - 1; unit++) value /= 1024;
  return `${unit === 0 || value >= 100 ? Math.round(value) : Number(value.toFixed(1))} ${sizes[unit]}`;
};

/** Returns a count in few characters, such as `12.3k`. */
export const formatCount = (value: number): string => {
  if (value < 1000) return String(Number(value.toFixed(value < 10 ? 2 : 0)));
  const [size, unit] = value < 1e6 ? [1e3, "k"] : [1e6, "M"];
  return `${Number((value / (size as number)).toFixed(1))}${unit}`;
};

/** Returns a complete count with its unit, such as `1,200 entries`. */
export const formatCounted = (count: number, one: string, many: string): string =>
  `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
