/** CloudWatch Logs passes the contract tests of `LogStore`. */
import type { AwsClients } from "../../../../adapters/aws/clients.ts";
import { createAwsLogs } from "../../../../adapters/aws/logs/store.ts";
import { fixedClients, providerWith, runtimeDeps } from "../../../clouds/subject.ts";
import { contractTests, logSearchCases, logStoreCases } from "../../../contracts/index.ts";
import { startFakeCloudWatch } from "../../../fakes/aws/logs/server.ts";
import { awsConfig } from "../../../fakes/aws/test-config.ts";

contractTests("CloudWatch Logs", [...logStoreCases, ...logSearchCases], async () => {
  const deps = runtimeDeps();
  const fake = await startFakeCloudWatch(deps);
  const logs = createAwsLogs(awsConfig, fixedClients<AwsClients>({ logs: fake.client }), deps);
  return { subject: providerWith("aws", { logs }), close: () => fake.close() };
});
