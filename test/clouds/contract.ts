/** A cloud's provider fulfils every port contract on its fakes. */
import { missing, offered } from "../../core/domain/wire/capabilities.ts";
import {
  type ContractCase,
  contractTests,
  freshNames,
  type ProviderSubject,
  providerCases,
} from "../contracts/index.ts";
import { nodeContractSources } from "../support/providers/contract-sources.ts";
import { has } from "../support/vitest/machine.ts";
import { type Cloud, type Fakes, openCloud } from "./cloud.ts";
import { runtimeDeps } from "./subject.ts";

/**
 * @param cases defaults to all
 * @param deps returns the dependencies of a run; defaults to the machine's clock and random ids
 */
export const cloudContractTests = async <F extends Fakes>(
  cloud: Cloud<F>,
  cases: readonly ContractCase<ProviderSubject>[] = providerCases,
  deps = runtimeDeps,
): Promise<void> => {
  const start = async () => {
    const { ports, close } = await openCloud(cloud, "real", deps());
    // A limit of the fake, not of the cloud: it runs services with the tools of this machine.
    const read_only = has("bubblewrap") ? offered() : missing("the fake runs services as plain processes");
    const { capabilities } = ports.provider;
    const provider = {
      ...ports.provider,
      capabilities: { ...capabilities, volumes: { ...capabilities.volumes, read_only } },
    };
    return { subject: { provider, sources: nodeContractSources, ...freshNames(cloud.name) }, close };
  };
  // Capabilities depend on the configuration, not on the machine.
  const probe = await start();
  await probe.close();
  contractTests(`${cloud.name} provider`, cases, start, probe.subject.provider.capabilities);
};
