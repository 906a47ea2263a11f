/**
 * `portside/testing`: for whoever writes an adapter, embeds the control plane, or has rules of their own about deploys.
 *
 * - the contract suites of the ports: `contractTests("my platform", servicePlatformCases, start, capabilities)`
 * - generators of what clients may send and may not, and of what providers have to keep
 * - a model of volumes, objects and mounts, with the commands that a system is compared by
 * - a cloud on a clock of the test's own, and one deploy on it
 */
// biome-ignore lint/performance/noReExportAll: what is published of them is named there, once
export * from "./arbitraries/index.ts";
// biome-ignore lint/performance/noReExportAll: what is published of them is named there, once
export * from "./contracts/index.ts";
export { command, type StorageCommand } from "./models/storage-commands.ts";
export { storageAccounts, storageLife } from "./models/storage-life.ts";
export { emptyModel, expectAgreement, type StorageModel, type StorageSystem } from "./models/storage-model.ts";
export { type SimulatedDeploy, type SimulateOptions, simulateDeploy } from "./simulation/simulate-deploy.ts";
export {
  type CloudCall,
  type CloudWeather,
  createSimulatedCloud,
  type SimulatedCloud,
} from "./simulation/simulated-cloud.ts";
