/** Ports that break their contract and throw, with messages that no client may see. */
import type { Ports } from "../../../core/ports/provider.ts";
import { ResultAsync } from "../../../core/result.ts";

export const SECRET_WORDS = "at /srv/hidden/accounts/beta.db, password hunter2";

/** How a broken port throws: in the call, or in the returned promise or stream. */
export type Breaking = "throws" | "rejects";

// biome-ignore lint/correctness/useYield: it throws before it yields anything
async function* brokenEvents(): AsyncGenerator<never> {
  throw new TypeError(SECRET_WORDS);
}

const brokenResult = () => new ResultAsync<never, never>(Promise.reject(new TypeError(SECRET_WORDS)));

const breakAll = <P extends object>(port: P, how: Breaking, only: (method: string) => boolean): P =>
  new Proxy(port, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function" || !only(String(key))) return value;
      return () => {
        if (how === "throws") throw new TypeError(SECRET_WORDS);
        return ["build", "rollout"].includes(String(key)) ? brokenEvents() : brokenResult();
      };
    },
  });

/**
 * Breaks every method of the ports of the provider, the identity and billing, except those that identify the caller.
 * @param only chooses the methods, as `port.method`
 */
export const throwingPorts = (ports: Ports, how: Breaking, only: (method: string) => boolean = () => true): Ports => {
  const wrap = <P extends object>(port: P, name: string): P =>
    breakAll(port, how, (method) => only(`${name}.${method}`));
  const { provider, identity, billing } = ports;
  return {
    ...ports,
    provider: {
      ...provider,
      services: wrap(provider.services, "services"),
      builder: wrap(provider.builder, "builder"),
      volumes: wrap(provider.volumes, "volumes"),
      ...(provider.secrets === undefined ? {} : { secrets: wrap(provider.secrets, "secrets") }),
      ...(provider.domains === undefined
        ? {}
        : {
            domains: {
              ...provider.domains,
              store: wrap(provider.domains.store, "domains"),
              dns: wrap(provider.domains.dns, "dns"),
            },
          }),
      scheduler: wrap(provider.scheduler, "scheduler"),
      logs: wrap(provider.logs, "logs"),
      sql: wrap(provider.sql, "sql"),
      spool: wrap(provider.spool, "spool"),
      check: wrap({ check: provider.check }, "provider").check,
    },
    identity: {
      authenticator: wrap(identity.authenticator, "authenticator"),
      keys: wrap(identity.keys, "keys"),
      tokens: wrap(identity.tokens, "tokens"),
      ...(identity.sessions === undefined ? {} : { sessions: wrap(identity.sessions, "sessions") }),
    },
    billing: wrap(billing, "billing"),
  };
};
