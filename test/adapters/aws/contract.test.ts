/** The provider keeps every promise of the ports, on the fakes of Amazon's services as one account. */
import { createAwsProvider } from "../../../adapters/aws/index.ts";
import { missing, offered } from "../../../core/domain/capabilities.ts";
import { contractTests, freshNames, providerCases } from "../../contracts/index.ts";
import { startFakeCloud } from "../../fakes/aws/cloud.ts";
import { nodeContractSources } from "../../support/contract-sources.ts";
import { folderWith } from "../../support/folders.ts";
import { has } from "../../support/machine.ts";
import { ambientOf } from "./subject.ts";

const start = async () => {
  const folder = folderWith();
  const cloud = await startFakeCloud();
  const { provider: made, close } = await createAwsProvider(cloud.config(folder.path), ambientOf());
  // A gap of the fake's, not of Fargate's: it runs services with what this machine has.
  const read_only = has("bubblewrap") ? offered() : missing("the fake runs services as plain processes here");
  const { capabilities } = made;
  const provider = { ...made, capabilities: { ...capabilities, volumes: { ...capabilities.volumes, read_only } } };
  return {
    subject: { provider, sources: nodeContractSources, ...freshNames("aws") },
    close: async () => {
      await close();
      await cloud.close();
      folder[Symbol.dispose]();
    },
  };
};

// What is declared does not depend on the machine, but on the configuration.
const probe = await start();
await probe.close();

contractTests("aws provider", providerCases, start, probe.subject.provider.capabilities);
