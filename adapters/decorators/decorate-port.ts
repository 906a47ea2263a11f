/** Wraps every method of a port to inject faults, delays or spans. */

export type Method = (...args: unknown[]) => unknown;

/** @param around replaces each call; receives the method's name, the method and its arguments */
export const wrapPort = <P extends object>(
  port: P,
  around: (name: string, method: Method, args: readonly unknown[]) => unknown,
): P => {
  const wrapped = new Map<string, Method>();
  return new Proxy(port, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function" || typeof key !== "string") return value;
      const known = wrapped.get(key);
      if (known !== undefined) return known;
      const method: Method = (...passed) => value.apply(target, passed);
      const made: Method = (...args) => around(key, method, args);
      wrapped.set(key, made);
      return made;
    },
  });
};
