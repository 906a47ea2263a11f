/** CloudWatch Logs passes the contract tests of `LogStore`. */
import type { AwsClients } from "../../../../adapters/aws/clients.ts";
import { awsLogCapabilities } from "../../../../adapters/aws/logs/capabilities.ts";
import { createAwsLogs } from "../../../../adapters/aws/logs/store.ts";
import { memoryCapabilities } from "../../../../adapters/memory/capabilities.ts";
import { fixedClients, providerWith, runtimeDeps } from "../../../clouds/subject.ts";
import { contractTests, logSearchCases, logStoreCases } from "../../../contracts/index.ts";
import { startFakeCloudWatch } from "../../../fakes/aws/logs/server.ts";
import { awsConfig } from "../../../fakes/aws/test-config.ts";

const start = async () => {
  const deps = runtimeDeps();
  const fake = await startFakeCloudWatch(deps);
  const logs = createAwsLogs(awsConfig, fixedClients<AwsClients>({ logs: fake.client }), deps);
  return { subject: providerWith("aws", { logs }), close: () => fake.close() };
};

const capabilities = { ...memoryCapabilities, logs: awsLogCapabilities(awsConfig) };
contractTests("CloudWatch Logs", [...logStoreCases, ...logSearchCases], start, capabilities);
