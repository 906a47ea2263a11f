/** The memory provider fulfils the contract of every port. */

import { memoryCapabilities } from "../../../adapters/memory/capabilities.ts";
import { createManualClock, createMemoryProvider } from "../../../adapters/memory/index.ts";
import { createMemoryMetrics } from "../../../adapters/memory/usage/metrics.ts";
import { createWorld } from "../../../adapters/memory/world.ts";
import { secondsOf } from "../../../core/domain/wire/instant.ts";
import {
  billingCases,
  clockCases,
  contractTests,
  dnsResolverCases,
  durableCases,
  freshNames,
  identityCases,
  type MetricSubject,
  metricStoreCases,
  type ProviderSubject,
  providerCases,
  type Started,
} from "../../contracts/index.ts";
import { nodeContractSources } from "../../support/providers/contract-sources.ts";
import { memoryDns } from "../../support/providers/memory-dns.ts";

const nothing = async () => undefined;

const start = async (): Promise<Started<ProviderSubject>> => {
  const { provider, close } = createMemoryProvider();
  return { subject: { provider, sources: nodeContractSources, ...freshNames("memory") }, close };
};

contractTests("memory provider", providerCases, start, memoryCapabilities);

contractTests(
  "memory provider, reopened",
  durableCases,
  async () => {
    const { provider, close } = createMemoryProvider();
    return { subject: { provider, reopen: nothing, ...freshNames("memory") }, close };
  },
  memoryCapabilities,
);

contractTests("memory DNS", dnsResolverCases, async () => ({
  subject: memoryDns(createMemoryProvider()),
  close: nothing,
}));

contractTests("memory metrics", metricStoreCases, async () => {
  const clock = createManualClock("2026-03-01T12:00:00Z");
  const metrics = createMemoryMetrics(createWorld(), clock);
  const start = secondsOf(clock.now());
  const subject: MetricSubject = {
    metrics,
    start,
    ...freshNames("memory"),
    add: async ({ owner, name }, minute, rollup) => metrics.add(start + minute, owner, name, rollup),
  };
  return { subject, close: nothing };
});

contractTests("memory identity", identityCases, async () => ({
  subject: { identity: createMemoryProvider().identity, account: freshNames("memory").account },
  close: nothing,
}));

contractTests("memory billing", billingCases, async () => {
  const { billing } = createMemoryProvider();
  const sell = async (...sold: Parameters<typeof billing.subscribe>) => billing.subscribe(...sold);
  return { subject: { billing, sell, down: billing.down, account: freshNames("memory").account }, close: nothing };
});

contractTests("manual clock", clockCases, async () => {
  const clock = createManualClock();
  return { subject: { clock, pass: (millis) => clock.advance(millis) }, close: nothing };
});
