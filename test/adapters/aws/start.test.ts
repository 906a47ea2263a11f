/**
 * The platform refuses to start on an unusable account: the tests of every cloud, plus shared resources and the trash.
 */
import { expect, test } from "vitest";
import { createAwsProvider } from "../../../adapters/aws/index.ts";
import { aws } from "../../clouds/aws.ts";
import { openFakes, startTests } from "../../clouds/start.ts";
import { expectOk } from "../../contracts/support.ts";
import { accountOf } from "../../support/http/brands.ts";

type AwsFakes = Awaited<ReturnType<typeof aws.start>>;

/** The outputs of the stack that created the shared resources. */
const outputsOf = (fakes: AwsFakes): Record<string, string> =>
  Object.fromEntries(
    Object.entries(fakes.config("/nowhere").shared ?? {}).map(([part, value]) => [part, [value].flat().join(",")]),
  );

/** Configured only with the stack; names no shared resource. */
const byStack: typeof aws = {
  name: aws.name,
  start: async (services) => {
    const fakes = await aws.start(services);
    fakes.account.outputs = outputsOf(fakes);
    return fakes;
  },
  provide: (fakes, dataDir, deps) => {
    const { shared: _, ...config } = fakes.config(dataDir);
    return createAwsProvider(config, deps);
  },
};

startTests(byStack, {
  lacking: {
    take: ({ account }) => {
      delete account.outputs?.["cluster"];
      delete account.outputs?.["stateBucket"];
    },
    words: [
      "shared resource cluster",
      "shared resource stateBucket",
      "aws cloudformation deploy --stack-name portside --region eu-west-1",
    ],
  },
  hidden: {
    hide: ({ account }) => {
      account.mayLook = false;
    },
    word: "IAM role quota",
  },
});

test("uses the resources that the stack names", async () => {
  const { fakes, start, close } = await openFakes(byStack);
  fakes.account.outputs = { ...fakes.account.outputs, stateBucket: "named-by-the-stack" };
  // The start checks for the bucket before it stores anything.
  await expect(start()).rejects.toThrow("aws s3 mb s3://named-by-the-stack");
  await close();
});

test("starts with a warning if the trash is not readable", async () => {
  const { fakes, start, logged, close } = await openFakes(aws);
  // The checks of the account make the first call.
  fakes.faults.s3.inject({ method: "s3.ListObjectsV2", nth: 2, kind: "permission_denied" });
  const { provider, close: stop } = await start();
  expect(await expectOk(provider.volumes.list(accountOf("acme")))).toEqual([]);
  await stop();
  expect(logged.join("\n")).toContain("the clean-up of volumes failed; the next start retries it");
  await close();
});
