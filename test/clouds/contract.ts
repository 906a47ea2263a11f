/** A cloud's provider fulfils every port contract on its fakes. */
import { missing, offered } from "../../core/domain/wire/capabilities.ts";
import { contractTests, freshNames, providerCases } from "../contracts/index.ts";
import { nodeContractSources } from "../support/providers/contract-sources.ts";
import { has } from "../support/vitest/machine.ts";
import { type Cloud, type Fakes, openCloud } from "./cloud.ts";

export const cloudContractTests = async <F extends Fakes>(cloud: Cloud<F>): Promise<void> => {
  const start = async () => {
    const { ports, close } = await openCloud(cloud);
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
  contractTests(`${cloud.name} provider`, providerCases, start, probe.subject.provider.capabilities);
};
