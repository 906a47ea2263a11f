/** EventBridge Scheduler passes the contract tests of `Scheduler`. */
import type { AwsClients } from "../../../../adapters/aws/clients.ts";
import { awsCron } from "../../../../adapters/aws/schedules/capabilities.ts";
import { createAwsScheduler } from "../../../../adapters/aws/schedules/scheduler.ts";
import { memoryCapabilities } from "../../../../adapters/memory/capabilities.ts";
import { fixedClients, providerWith, runtimeDeps } from "../../../clouds/subject.ts";
import { contractTests, schedulerCases } from "../../../contracts/index.ts";
import { startFakeEventBridge } from "../../../fakes/aws/scheduler/server.ts";
import { awsConfig } from "../../../fakes/aws/test-config.ts";

const start = async () => {
  const deps = runtimeDeps();
  const fake = await startFakeEventBridge(deps);
  const scheduler = createAwsScheduler(awsConfig, fixedClients<AwsClients>({ scheduler: fake.client }), deps);
  return { subject: providerWith("aws", { scheduler }), close: () => fake.close() };
};

contractTests("EventBridge Scheduler", schedulerCases, start, { ...memoryCapabilities, cron: awsCron });
