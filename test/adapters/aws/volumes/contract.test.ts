/** The contract tests of volumes, on our fake S3. */
import { createMemoryProvider } from "../../../../adapters/memory/index.ts";
import {
  contractTests,
  freshNames,
  volumeObjectCases,
  volumeStoreCases,
  volumeUploadCases,
} from "../../../contracts/index.ts";
import { startFakeS3 } from "../../../fakes/aws/s3/index.ts";
import { STATE_BUCKET } from "../../../fakes/aws/test-config.ts";
import { nodeContractSources } from "../../../support/providers/contract-sources.ts";
import { storageCapabilities, volumesOver } from "./subject.ts";

const start = async () => {
  const fake = await startFakeS3({ buckets: [STATE_BUCKET] });
  const volumes = volumesOver(fake);
  const provider = { ...createMemoryProvider().provider, volumes };
  return {
    subject: { provider, sources: nodeContractSources, ...freshNames("s3") },
    close: () => fake.close(),
  };
};

contractTests("S3", [...volumeStoreCases, ...volumeObjectCases, ...volumeUploadCases], start, storageCapabilities);
