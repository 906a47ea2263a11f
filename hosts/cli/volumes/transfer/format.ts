/** Formats sizes, durations and counts for people. */

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** `512 B`, `1.5 KiB`, `256 MiB`: at most three digits, rounded down, so that progress is not overstated. */
export const formatSize = (bytes: number): string => {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  const digits = value < 100 ? Math.floor(value * 10) / 10 : Math.floor(value);
  return `${digits} ${UNITS[unit]}`;
};

/** `2 s`, `3 min`, `1 h 20 min`. */
export const formatDuration = (seconds: number): string => {
  const whole = Math.ceil(seconds);
  if (whole < 90) return `${whole} s`;
  const minutes = Math.ceil(whole / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
};

/** `1 object`, `3 objects`. */
export const pluralize = (count: number, word: string): string => `${count} ${word}${count === 1 ? "" : "s"}`;
