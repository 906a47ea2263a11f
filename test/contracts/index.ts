/**
 * The contract suites of the ports, for authors of adapters: a part of `portside/testing`.
 *
 * ```ts
 * contractTests("my platform", servicePlatformCases, start, capabilities);
 * ```
 */
export { type BillingSubject, billingCases } from "./billing.ts";
export { type AuthoritySubject, certificateAuthorityCases } from "./certificate-authority.ts";
export { type CertificateStoreSubject, certificateStoreCases } from "./certificate-store.ts";
export { type DnsSubject, dnsResolverCases, domainStoreCases, type PublishedRecord } from "./domains.ts";
export { durableCases } from "./durable.ts";
export {
  type ContractCase,
  type ContractSources,
  contractTests,
  type DurableSubject,
  freshNames,
  type IdentitySubject,
  type ProviderSubject,
  type Started,
  type StoreSubject,
} from "./harness.ts";
export { identityCases } from "./identity.ts";
export { imageBuilderCases } from "./image-builder.ts";
export { logSearchCases } from "./log-search.ts";
export { logStoreCases } from "./log-store.ts";
export { type MetricSubject, metricStoreCases } from "./metric-store.ts";
export { providerCases, runningCases, storedCases } from "./provider.ts";
export { runningServiceCases } from "./running-services.ts";
export { runningVolumeCases } from "./running-volumes.ts";
export { schedulerCases } from "./scheduler.ts";
export { runningSecretCases, secretStoreCases } from "./secrets.ts";
export { servicePlatformCases } from "./service-platform.ts";
export { sourceSpoolCases } from "./source-spool.ts";
export { sqlEngineCases } from "./sql-engine.ts";
export { type ClockSubject, clockCases, idsCases } from "./system.ts";
export { volumeObjectCases } from "./volume-objects.ts";
export { volumeStoreCases } from "./volume-store.ts";
export { volumeUploadCases } from "./volume-uploads.ts";
