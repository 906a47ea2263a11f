/**
 * A wildcard DNS record for this process: every name under the domain resolves to the loopback address. Not every name
 * server resolves `*.localhost`. Replaces `dns.lookup`, with which Node's sockets resolve names.
 */
import dns from "node:dns";

type Lookup = typeof dns.lookup;

/** @returns a function that removes the record */
export const resolveLocally = (domain: string): (() => void) => {
  const real = dns.lookup;
  const local = (host: string, ...rest: unknown[]) => {
    if (!host.endsWith(`.${domain}`)) return (real as (...args: unknown[]) => void)(host, ...rest);
    const callback = rest.at(-1) as (...args: unknown[]) => void;
    const { all } = (rest.length > 1 ? rest[0] : {}) as { all?: boolean };
    process.nextTick(() =>
      all ? callback(null, [{ address: "127.0.0.1", family: 4 }]) : callback(null, "127.0.0.1", 4),
    );
  };
  dns.lookup = Object.assign(local, real) as unknown as Lookup;
  return () => {
    dns.lookup = real;
  };
};
