/** A cloud's provider keeps every promise of the ports, on its fakes as one account. */
import { missing, offered } from "../../core/domain/capabilities.ts";
import { contractTests, freshNames, providerCases } from "../contracts/index.ts";
import { nodeContractSources } from "../support/contract-sources.ts";
import { has } from "../support/machine.ts";
import { type Cloud, type Fakes, openCloud } from "./cloud.ts";

export const cloudContractTests = async <F extends Fakes>(cloud: Cloud<F>): Promise<void> => {
  const start = async () => {
    const { ports, close } = await openCloud(cloud);
    // A gap of the fake's, not of the cloud's: it runs services with what this machine has.
    const read_only = has("bubblewrap") ? offered() : missing("the fake runs services as plain processes here");
    const { capabilities } = ports.provider;
    const provider = {
      ...ports.provider,
      capabilities: { ...capabilities, volumes: { ...capabilities.volumes, read_only } },
    };
    return { subject: { provider, sources: nodeContractSources, ...freshNames(cloud.name) }, close };
  };
  // What is declared does not depend on the machine, but on the configuration.
  const probe = await start();
  await probe.close();
  contractTests(`${cloud.name} provider`, providerCases, start, probe.subject.provider.capabilities);
};
