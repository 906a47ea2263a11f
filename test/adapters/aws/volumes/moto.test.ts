/** The contract tests of volumes, on moto's S3, which is independent of our fake. */
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createMemoryProvider } from "../../../../adapters/memory/index.ts";
import type { VolumeName } from "../../../../core/domain/wire/names.ts";
import { appliesTo, freshNames } from "../../../contracts/harness.ts";
import { type ProviderSubject, type Started, volumeObjectCases, volumeStoreCases } from "../../../contracts/index.ts";
import { startMoto } from "../../../fakes/aws/moto.ts";
import { clientOptions } from "../../../fakes/aws/protocols.ts";
import { type Statement, stackStatements } from "../../../fakes/aws/requests/judges.ts";
import { REGION, STATE_BUCKET } from "../../../fakes/aws/test-config.ts";
import { accountOf } from "../../../support/http/brands.ts";
import { nodeContractSources } from "../../../support/providers/contract-sources.ts";
import { has, needs } from "../../../support/vitest/machine.ts";
import { storageCapabilities, volumesOver } from "./subject.ts";

const start = async (statements?: readonly Statement[]): Promise<Started<ProviderSubject>> => {
  const moto = await startMoto();
  const clientWith = (credentials: { accessKeyId: string; secretAccessKey: string }) =>
    new S3Client({ ...clientOptions(moto.endpoint), forcePathStyle: true, credentials });
  const owner = clientWith({ accessKeyId: "AKIAFAKE", secretAccessKey: "secret" });
  const place = { CreateBucketConfiguration: { LocationConstraint: REGION as "eu-west-1" } };
  await owner.send(new CreateBucketCommand({ Bucket: STATE_BUCKET, ...place }));
  const client = statements === undefined ? owner : clientWith(await moto.enforce(statements));
  const { provider } = createMemoryProvider();
  const volumes = volumesOver({ client });
  const subject = { provider: { ...provider, volumes }, sources: nodeContractSources, ...freshNames("moto") };
  return {
    subject,
    close: async () => {
      owner.destroy();
      client.destroy();
      moto.close();
    },
  };
};

let started: Started<ProviderSubject> | undefined;
let enforced: Started<ProviderSubject> | undefined;

beforeAll(async () => {
  if (!has("moto")) return;
  started = await start();
  enforced = await start(stackStatements());
});
afterAll(async () => {
  await started?.close();
  await enforced?.close();
});

const fitting = (cases: typeof volumeObjectCases) => cases.filter((one) => appliesTo(one, storageCapabilities));

/** The differences between moto and S3, by the case that each breaks. */
const gaps: ReadonlyMap<string, string> = new Map([
  ["a preflight allows a page of any origin to use a signed URL", "rejects preflights of signed URLs"],
  ["a page can read the ETag and Content-Range of responses, and error responses", "rejects a missing object with 403"],
  [
    "a removed object does not exist; removing a missing one fails with not_found",
    "reads `If-Match: *` of a delete as an ETag",
  ],
  ["a URL works only for its method, object and volume", "does not check signatures"],
  ["a URL expires at the reported time", "does not check signatures"],
]);

const SIGNED_URL = "fails with a bug for a signed URL when it checks permissions";
const QUERY = "calculates another signature for a query with escapes";

/** The differences when moto also checks permissions. */
const enforcedGaps: ReadonlyMap<string, string> = new Map([
  ["names belong to an account; for another account, find returns other_account", QUERY],
  ["a hidden volume is not listed, its name is taken, and its objects stay", SIGNED_URL],
  ["a deleted volume frees its name, and a new volume of that name is empty and has a different id", SIGNED_URL],
  ["the objects of a deleted volume are not accessible", SIGNED_URL],
  ["the trash lists every deleted volume of the account, and a restore returns its id and objects", SIGNED_URL],
]);

const runIn = (
  cases: typeof volumeObjectCases,
  gaps: ReadonlyMap<string, string>,
  subject: () => Started<ProviderSubject> | undefined,
) => {
  for (const { group, name, run } of fitting(cases))
    test(`${group}: ${name}`, async (context) => {
      needs(context, "moto");
      const done = run((subject() as Started<ProviderSubject>).subject);
      const gap = gaps.get(name);
      // If moto fixes a gap, remove it from the list.
      if (gap === undefined) await done;
      else await expect(done, gap).rejects.toThrow();
    });
};

describe("S3, in moto", () => runIn([...volumeStoreCases, ...volumeObjectCases], gaps, () => started));

describe("S3, in moto, with the stack's policies", () => {
  // The cases of objects use signed URLs.
  runIn(volumeStoreCases, enforcedGaps, () => enforced);

  test("denies what the policies do not grant", async (context) => {
    needs(context, "moto");
    const without = stackStatements().map((one) => ({
      ...one,
      actions: one.actions.filter((action) => action !== "s3:PutBucketVersioning"),
    }));
    const { subject, close } = await start(without);
    const made = await subject.provider.volumes.create(accountOf("acme"), "data" as VolumeName);
    await close();
    expect(made._unsafeUnwrapErr()).toMatchObject({ kind: "unavailable", cause: { name: "AccessDenied" } });
  });
});
