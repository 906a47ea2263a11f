/** Custom domains on AWS: certificates of AWS Certificate Manager on the listeners of the load balancers. */
import type { CustomDomain, DomainRecord } from "../../../core/domain/domains/domain.ts";
import type { ManagedCertificate } from "../../../core/domain/domains/managed-certificate.ts";
import type { Timestamp } from "../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { DnsResolver, DomainPorts, ManagedDomains } from "../../../core/ports/domain-store.ts";
import { err, ok, okAsync, type ResultAsync, safeTry } from "../../../core/result.ts";
import { createAuthoritativeDns } from "../../shared/domains/authoritative-dns.ts";
import { registeredDomain } from "../../shared/domains/public-suffixes.ts";
import { type AwsRuntimeDeps, awsCalls, throwState } from "../call-policy.ts";
import { pacedCalls } from "../call-rates.ts";
import type { ClientSource } from "../clients.ts";
import type { AwsConfig } from "../config.ts";
import { balancerHosts, createBalancer } from "../deploy/balancer.ts";
import { sharedByBalancer } from "../deploy/balancers.ts";
import { ecsFault } from "../deploy/ecs-faults.ts";
import { createDigestKey } from "../deploy/records/digest-key.ts";
import { createRecords } from "../deploy/records/records.ts";
import type { StateBucket } from "../state/state-bucket.ts";
import { cacheHosts } from "./balancer-dns.ts";
import { amazonAuthorities, createCertificates, MAX_DOMAIN_CHARS } from "./certificates.ts";
import { type DomainObject, hasLeftovers } from "./domain-object.ts";
import { createDomainObjects } from "./domain-objects.ts";
import { createAwsDomainStore } from "./domain-store.ts";
import { createLeftovers } from "./leftovers.ts";
import { createRequestBudget } from "./request-budget.ts";
import { balancerOf, DOMAINS_PER_DEPLOYMENT, type DomainBalancer } from "./routes.ts";
import { type Advanced, advanceDomain, type ServeDeps } from "./serve-domain.ts";

type DomainConfig = Pick<AwsConfig, "shared">;

/** The dependencies that the host process passes. Tests pass their own DNS. */
export type DomainRuntime = AwsRuntimeDeps & { readonly dns?: DnsResolver };

export interface AwsDomains {
  readonly ports: DomainPorts;
  /** Resumes the deletion of unused certificates and of routes to former deployments. Runs at start. */
  sweep(): ResultAsync<void, Unavailable>;
  /** Stops the background work. */
  close(): Promise<void>;
}

const recordsOf = ({ certificate }: DomainObject): readonly DomainRecord[] => {
  const record = certificate?.record ?? null;
  return record === null ? [] : [{ type: "CNAME", ...record, purpose: "certificate" }];
};

const managedOf = ({ object, problem }: Advanced): ManagedCertificate => {
  const certificate = object?.certificate ?? null;
  return {
    isServed: certificate?.isServed === true,
    problem: problem ?? certificate?.problem ?? null,
    notAfter: (certificate?.notAfter ?? null) as Timestamp | null,
    records: object === null ? [] : recordsOf(object),
  };
};

const createManaged = (
  deps: ServeDeps,
  listed: Pick<WeakMap<CustomDomain, DomainObject>, "get">,
  startLeftovers: (domain: DomainObject["domain"]["domain"]) => void,
): ManagedDomains => ({
  hostFor: (domain, options = {}) => balancerOf(deps, domain, options).map((own) => (own ?? deps.balancers[0]).host),

  find: (domain, options = {}) => {
    const known = listed.get(domain);
    const object = known === undefined ? deps.objects.read(domain.domain, options) : okAsync(known);
    return object.map((found) => managedOf({ object: found, problem: null }));
  },

  advance: (domain, options = {}) =>
    advanceDomain(deps, domain, options).map((advanced) => {
      if (advanced.object !== null && hasLeftovers(advanced.object)) startLeftovers(domain.domain);
      return managedOf(advanced);
    }),
});

const readBalancers = (
  { shared }: DomainConfig,
  clients: ClientSource,
  runtime: AwsRuntimeDeps,
): ResultAsync<ServeDeps["balancers"], Unavailable> =>
  safeTry(async function* () {
    const call = pacedCalls(awsCalls(runtime, ecsFault), runtime.clock);
    const all = sharedByBalancer(shared);
    const listeners = all.map(({ listenerArn }) => listenerArn);
    const hosts = yield* await balancerHosts(listeners, clients, call).mapErr(throwState);
    const [first, ...rest] = all.map((own): DomainBalancer => {
      const balancer = createBalancer(own.listenerArn, clients, call);
      return { shared: own, balancer, host: hosts.get(own.listenerArn) ?? "" };
    });
    if (first === undefined || [first, ...rest].some(({ host }) => host === ""))
      return err(
        unavailable(
          "The DNS name of a load balancer is not known. Check the settings listenerArn and moreListenerArns.",
        ),
      );
    return ok([first, ...rest] as const);
  });

export const createAwsDomains = (
  config: DomainConfig,
  clients: ClientSource,
  runtime: DomainRuntime,
  bucket: StateBucket,
): ResultAsync<AwsDomains, Unavailable> =>
  readBalancers(config, clients, runtime).map((balancers) => {
    const deps: ServeDeps = {
      objects: createDomainObjects(bucket, runtime),
      records: createRecords(bucket),
      certificates: createCertificates(clients, runtime),
      requests: createRequestBudget(bucket, runtime),
      balancers,
      clock: runtime.clock,
    };
    const leftovers = createLeftovers(deps, runtime);
    const proofKey = createDigestKey(bucket, "domains");
    // Passes the objects that `list` has read to `find`, which needs their certificates. A listing thus reads each
    // object once.
    const listed = new WeakMap<CustomDomain, DomainObject>();
    const dns = runtime.dns ?? createAuthoritativeDns({ clock: runtime.clock });
    const hosts = balancers.map(({ host }) => host);
    return {
      ports: {
        store: createAwsDomainStore({ ...deps, leftovers, listed, proofKey, ids: runtime.ids }),
        dns: cacheHosts(dns, hosts, runtime.clock),
        target: {
          host: balancers[0].host,
          addresses: [],
          platformDomains: [config.shared.domain.replace(/:\d+$/, "").toLowerCase()],
          authorities: amazonAuthorities,
        },
        registeredDomain,
        managed: createManaged(deps, listed, leftovers.start),
        limits: { chars: MAX_DOMAIN_CHARS, perDeployment: DOMAINS_PER_DEPLOYMENT },
      },
      sweep: () => leftovers.startAll(),
      close: leftovers.close,
    };
  });
