/** The provider keeps every promise of the ports, on the fakes of Google Cloud as one project. */
import { createGcpProvider } from "../../../adapters/gcp/index.ts";
import { createSystemClock, randomIds } from "../../../adapters/shared/system.ts";
import { missing, offered } from "../../../core/domain/capabilities.ts";
import { contractTests, freshNames, providerCases } from "../../contracts/index.ts";
import { startFakeCloud } from "../../fakes/gcp/cloud.ts";
import { nodeContractSources } from "../../support/contract-sources.ts";
import { folderWith } from "../../support/folders.ts";
import { has } from "../../support/machine.ts";
import { silentLogger } from "../../support/silent-logger.ts";

const start = async () => {
  const folder = folderWith();
  const cloud = await startFakeCloud();
  const deps = { clock: createSystemClock(), ids: randomIds, logger: silentLogger };
  const { provider: made, close } = await createGcpProvider(cloud.config(folder.path), deps);
  // A gap of the fake's, not of Cloud Run's: it runs services with what this machine has.
  const read_only = has("bubblewrap") ? offered() : missing("the fake runs services as plain processes here");
  const { capabilities } = made;
  const provider = { ...made, capabilities: { ...capabilities, volumes: { ...capabilities.volumes, read_only } } };
  return {
    subject: { provider, sources: nodeContractSources, ...freshNames("gcp") },
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

contractTests("gcp provider", providerCases, start, probe.subject.provider.capabilities);
