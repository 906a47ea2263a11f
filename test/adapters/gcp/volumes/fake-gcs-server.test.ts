/**
 * Volumes also fulfil their contract with objects in fake-gcs-server, which is independent of our own fake.
 *
 * It has no soft delete, so only our own fake tests hiding, deletion and restore (`contract.test.ts`).
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createMemoryProvider } from "../../../../adapters/memory/index.ts";
import { appliesTo, freshNames } from "../../../contracts/harness.ts";
import { type ProviderSubject, type Started, volumeObjectCases, volumeStoreCases } from "../../../contracts/index.ts";
import { startIndependentStorage } from "../../../fakes/gcp/storage/independent.ts";
import { nodeContractSources } from "../../../support/providers/contract-sources.ts";
import { fakeGcsServer, has, needs } from "../../../support/vitest/machine.ts";
import { storageCapabilities, volumesOver } from "./subject.ts";

let started: Started<ProviderSubject> | undefined;

beforeAll(async () => {
  if (!has("fake-gcs-server")) return;
  const storage = await startIndependentStorage(fakeGcsServer);
  const { provider } = createMemoryProvider();
  const volumes = volumesOver(storage);
  const subject = { provider: { ...provider, volumes }, sources: nodeContractSources, ...freshNames("independent") };
  started = { subject, close: () => storage.close() };
});
afterAll(() => started?.close());

const cases = [...volumeStoreCases, ...volumeObjectCases].filter(
  (one) => one.group !== "trash and restore" && appliesTo(one, storageCapabilities),
);

/** Deviations of fake-gcs-server from Cloud Storage, by the case that each breaks. */
const gaps: ReadonlyMap<string, string> = new Map([
  ["a preflight allows a page of any origin to use a signed URL", "ignores the CORS rules of buckets"],
  ["a page can read the ETag and Content-Range of responses, and error responses", "ignores the CORS rules of buckets"],
  ["`grantOrigins` lists the origin of each signed URL", "rejects uploads in parts"],
  ["an ETag distinguishes contents", "returns no ETag for an upload by a signed URL"],
]);

describe("Cloud Storage, with objects in fake-gcs-server", () => {
  for (const { group, name, run } of cases)
    test(`${group}: ${name}`, async (context) => {
      needs(context, "fake-gcs-server");
      const done = run((started as Started<ProviderSubject>).subject);
      const gap = gaps.get(name);
      // A case that passes must be removed from the list.
      if (gap === undefined) await done;
      else await expect(done, gap).rejects.toThrow();
    });
});
