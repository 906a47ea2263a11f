/** Batches calls with the same key in the same turn of the event loop into one read. */

/**
 * The read starts after the last call of the turn, so callers do not receive a value that is older than their call.
 * They share the value and must not change it.
 */
export const readOncePerTurn = <K, T>(read: (key: K) => T | Promise<T>): ((key: K) => Promise<T>) => {
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
