/** The contract tests of volumes, on moto's S3, which is independent of our fake. */
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createMemoryProvider } from "../../../../adapters/memory/index.ts";
import { appliesTo, freshNames } from "../../../contracts/harness.ts";
import { type ProviderSubject, type Started, volumeObjectCases, volumeStoreCases } from "../../../contracts/index.ts";
import { startMoto } from "../../../fakes/aws/moto.ts";
import { REGION, STATE_BUCKET } from "../../../fakes/aws/test-config.ts";
import { nodeContractSources } from "../../../support/providers/contract-sources.ts";
import { has, needs } from "../../../support/vitest/machine.ts";
import { storageCapabilities, volumesOver } from "./subject.ts";

let started: Started<ProviderSubject> | undefined;

beforeAll(async () => {
  if (!has("moto")) return;
  const moto = await startMoto();
  const credentials = { accessKeyId: "AKIAFAKE", secretAccessKey: "secret" };
  const client = new S3Client({
    endpoint: moto.endpoint,
    region: REGION,
    forcePathStyle: true,
    credentials,
    maxAttempts: 1,
  });
  const place = { CreateBucketConfiguration: { LocationConstraint: REGION as "eu-west-1" } };
  await client.send(new CreateBucketCommand({ Bucket: STATE_BUCKET, ...place }));
  const { provider } = createMemoryProvider();
  const volumes = volumesOver({ client });
  const subject = { provider: { ...provider, volumes }, sources: nodeContractSources, ...freshNames("moto") };
  started = {
    subject,
    close: async () => {
      client.destroy();
      moto.close();
    },
  };
});
afterAll(() => started?.close());

const cases = [...volumeStoreCases, ...volumeObjectCases].filter((one) => appliesTo(one, storageCapabilities));

/** Where moto differs from S3, by the test that it breaks. */
const gaps: ReadonlyMap<string, string> = new Map([
  [
    "a removed object does not exist; removing a missing one fails with not_found",
    "reads `If-Match: *` of a delete as an ETag",
  ],
  ["a URL works only for its method, object and volume", "does not check signatures"],
  ["a URL expires at the reported time", "does not check signatures"],
]);

describe("S3, in moto", () => {
  for (const { group, name, run } of cases)
    test(`${group}: ${name}`, async (context) => {
      needs(context, "moto");
      const done = run((started as Started<ProviderSubject>).subject);
      const gap = gaps.get(name);
      // If moto fixes a gap, remove it from the list.
      if (gap === undefined) await done;
      else await expect(done, gap).rejects.toThrow();
    });
});
