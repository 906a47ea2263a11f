/** The Google Cloud provider: Cloud Run, Cloud Build, Cloud Storage, Cloud Scheduler, Cloud Logging and BigQuery. */

export type { StartRefused } from "../cloud/start-refused.ts";
export type { GcpRuntimeDeps } from "./call-policy.ts";
export { gcpCapabilities } from "./capabilities.ts";
export { type ClientSource, clientSource, type GcpClients } from "./clients.ts";
export { type GcpConfig, type GcpConfigInput, gcpConfigOf, gcpConfigSchema } from "./config.ts";
export { diagnoseGcp } from "./doctor.ts";
export { createGcpProvider, type GcpProvider } from "./provider.ts";
