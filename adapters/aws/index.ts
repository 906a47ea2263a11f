/** The AWS provider: ECS on Fargate, CodeBuild, S3, EventBridge Scheduler, CloudWatch Logs and Athena. */

export type { StartRefused } from "../cloud/start-refused.ts";
export type { AwsRuntimeDeps } from "./call-policy.ts";
export { awsCapabilities } from "./capabilities.ts";
export { type AwsClients, type ClientSource, clientSource } from "./clients.ts";
export {
  type AwsConfig,
  type AwsConfigInput,
  type AwsSettings,
  awsSettingsOf,
  type SharedResources,
} from "./config.ts";
export { diagnoseAws } from "./doctor.ts";
export { type AwsProvider, createAwsProvider } from "./provider.ts";
