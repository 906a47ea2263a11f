/** The store of secrets works on moto, which is independent of the fakes. */
import { IAMClient } from "@aws-sdk/client-iam";
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { GetSecretValueCommand, ListSecretsCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { expect, test } from "vitest";
import { createIdentities } from "../../../../adapters/aws/accounts/identities.ts";
import { clientSource } from "../../../../adapters/aws/clients.ts";
import { digestKeyId } from "../../../../adapters/aws/secrets/names.ts";
import { createAwsSecrets } from "../../../../adapters/aws/secrets/secret-store.ts";
import { randomIds } from "../../../../adapters/shared/runtime/system.ts";
import type { SecretName } from "../../../../core/domain/wire/names.ts";
import { startMoto } from "../../../fakes/aws/moto.ts";
import { clientOptions } from "../../../fakes/aws/protocols.ts";
import { awsConfig, REGION, STATE_BUCKET } from "../../../fakes/aws/test-config.ts";
import { createLeapingClock } from "../../../support/clocks/leaping-clock.ts";
import { accountOf } from "../../../support/http/brands.ts";
import { silentLogger } from "../../../support/logs/silent-logger.ts";
import { needs } from "../../../support/vitest/machine.ts";

const acme = accountOf("acme");
const KEY = "KEY" as SecretName;

test("stores, lists, reads and deletes versions on moto's Secrets Manager, IAM and S3", async (context) => {
  needs(context, "moto");
  const moto = await startMoto();
  const s3 = new S3Client({ ...clientOptions(moto.endpoint), forcePathStyle: true });
  const secrets = new SecretsManagerClient(clientOptions(moto.endpoint));
  const iam = new IAMClient(clientOptions(moto.endpoint));
  await s3.send(
    new CreateBucketCommand({ Bucket: STATE_BUCKET, CreateBucketConfiguration: { LocationConstraint: REGION } }),
  );
  const clients = clientSource(REGION, { s3, secrets, iam });
  const deps = { clock: createLeapingClock(), ids: randomIds, logger: silentLogger };
  const identities = createIdentities(awsConfig, clients, deps);
  const open = () => createAwsSecrets(awsConfig, clients, deps, identities);
  const store = open();
  const set = async (value: string, by = store) => (await by.set(acme, KEY, value))._unsafeUnwrap();
  const names = async () =>
    ((await secrets.send(new ListSecretsCommand({}))).SecretList ?? []).map(({ Name = "" }) => Name).sort();
  try {
    const first = await set("one");
    expect(await set("one", open())).toEqual(first);
    const second = await set("two");
    expect((await store.list(acme))._unsafeUnwrap()).toEqual([{ name: KEY, versions: [second, first] }]);
    const pins = { TOKEN: { name: KEY, version: 2, follows: true } };
    expect((await store.values(acme, pins))._unsafeUnwrap()).toEqual(["two"]);
    const arn = (await store.arns(acme, pins, {}))._unsafeUnwrap().get("TOKEN");
    expect((await secrets.send(new GetSecretValueCommand({ SecretId: arn }))).SecretString).toBe("two");
    expect(await names()).toHaveLength(3);
    (await store.delete(acme, KEY))._unsafeUnwrap();
    expect(await names()).toEqual([digestKeyId(awsConfig)]);
    expect((await set("three")).version).toBe(3);
  } finally {
    for (const client of [s3, secrets, iam]) client.destroy();
    moto.close();
  }
});
