/** Cloud Run and Cloud Build keep the promises of their ports, on fakes that really build and run. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createCloudBuilder } from "../../../../adapters/gcp/build/builder.ts";
import { gcpCapabilities } from "../../../../adapters/gcp/capabilities.ts";
import { createRunPlatform } from "../../../../adapters/gcp/run/platform.ts";
import { createDiskSpool } from "../../../../adapters/shared/disk-spool.ts";
import { createSystemClock, randomIds } from "../../../../adapters/shared/system.ts";
import type { Provider } from "../../../../core/ports/provider.ts";
import {
  contractTests,
  freshNames,
  imageBuilderCases,
  runningServiceCases,
  servicePlatformCases,
} from "../../../contracts/index.ts";
import { createLocalEngine } from "../../../fakes/gcp/run/local-engine.ts";
import { config, openRunWorld } from "../../../fakes/gcp/run/world.ts";
import { nodeContractSources } from "../../../support/contract-sources.ts";
import { silentLogger } from "../../../support/silent-logger.ts";

const capabilities = gcpCapabilities(config);

contractTests(
  "Cloud Run and Cloud Build",
  [...servicePlatformCases, ...runningServiceCases, ...imageBuilderCases],
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "portside-gcp-contract-"));
    const world = await openRunWorld({ engine: (onLine) => createLocalEngine({ onLine }) });
    const ambient = {
      clock: createSystemClock(),
      ids: randomIds,
      logger: silentLogger,
    };
    // The other ports have suites of their own, and no case here asks for one.
    const provider = {
      capabilities,
      services: createRunPlatform(config, world.clients, ambient, { lastLines: world.lastLines }),
      builder: createCloudBuilder(config, world.clients, ambient),
      spool: createDiskSpool(folder, randomIds),
    } as unknown as Provider;
    const close = async () => {
      await world.close();
      await rm(folder, { recursive: true, force: true });
    };
    return { subject: { provider, sources: nodeContractSources, ...freshNames("gcp") }, close };
  },
  capabilities,
);
