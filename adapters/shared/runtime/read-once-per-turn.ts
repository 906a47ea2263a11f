/** One read for all calls that arrive in the same turn of the event loop. */

/**
 * The read starts after the last of these calls has arrived, so no call gets a value from before it was made. The calls
 * share the value: it must not be changed.
 */
export const oneReadATurn = <K, T>(read: (key: K) => T | Promise<T>): ((key: K) => Promise<T>) => {
  const waiting = new Map<K, Promise<T>>();
  return (key) => {
    const known = waiting.get(key);
    if (known !== undefined) return known;
    const value = new Promise<T>((resolve) => {
      setImmediate(() => {
        waiting.delete(key);
        resolve((async () => read(key))());
      });
    });
    waiting.set(key, value);
    return value;
  };
};
