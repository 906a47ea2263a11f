/** A span for each port call, such as `services.rollout` or `logs.after`. */

import type { DomainPorts } from "../../../core/ports/domain-store.ts";
import type { Ports } from "../../../core/ports/provider.ts";
import { wrapPort } from "../decorate-port.ts";
import { withSpan } from "./span.ts";

const traced = <P extends object>(name: string, port: P): P =>
  wrapPort(port, (method, call, args) =>
    withSpan(`${name}.${method}`, { "portside.port": name, "portside.method": method }, () => call(...args)),
  );

const tracedDomains = (domains: DomainPorts): DomainPorts => ({
  ...domains,
  store: traced("domains", domains.store),
  dns: traced("dns", domains.dns),
});

/**
 * Returns the ports with a span around each call. Does not trace clocks, ids or loggers, which are called too often.
 * Does not trace `check` and the ports for certificates either.
 */
export const tracePorts = (ports: Ports): Ports => {
  const { provider, identity, billing } = ports;
  return {
    ...ports,
    provider: {
      ...provider,
      services: traced("services", provider.services),
      builder: traced("builder", provider.builder),
      volumes: traced("volumes", provider.volumes),
      ...(provider.secrets === undefined ? {} : { secrets: traced("secrets", provider.secrets) }),
      ...(provider.domains === undefined ? {} : { domains: tracedDomains(provider.domains) }),
      scheduler: traced("scheduler", provider.scheduler),
      logs: traced("logs", provider.logs),
      sql: traced("sql", provider.sql),
      spool: traced("spool", provider.spool),
      ...(provider.metrics === undefined ? {} : { metrics: traced("metrics", provider.metrics) }),
      check: (options) => provider.check(options),
    },
    identity: {
      authenticator: traced("authenticator", identity.authenticator),
      keys: traced("keys", identity.keys),
      tokens: traced("tokens", identity.tokens),
      ...(identity.sessions === undefined ? {} : { sessions: traced("sessions", identity.sessions) }),
    },
    billing: traced("billing", billing),
  };
};
