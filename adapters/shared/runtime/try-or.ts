/** Returns the result of `read`, or `fallback` if it throws. For reads whose failure is a normal result. */
export const tryOr = <T, F>(read: () => T, fallback: F): T | F => {
  try {
    return read();
  } catch {
    return fallback;
  }
};
