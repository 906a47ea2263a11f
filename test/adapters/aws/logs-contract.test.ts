/** CloudWatch Logs keeps every promise of `LogStore`. */
import { createAwsLogs } from "../../../adapters/aws/logs/store.ts";
import { contractTests, logSearchCases, logStoreCases } from "../../contracts/index.ts";
import { startFakeCloudWatch } from "../../fakes/aws/logs/server.ts";
import { awsConfig } from "../../fakes/aws/test-config.ts";
import { ambientOf, givenClients, providerWith } from "./subject.ts";

contractTests("CloudWatch Logs", [...logStoreCases, ...logSearchCases], async () => {
  const ambient = ambientOf();
  const fake = await startFakeCloudWatch(ambient);
  const logs = createAwsLogs(awsConfig, givenClients({ logs: fake.client }), ambient);
  return { subject: providerWith({ logs }), close: () => fake.close() };
});
