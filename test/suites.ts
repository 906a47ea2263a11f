/** The contents of `portside/testing` except for vitest and fast-check, which the suites import. */
// biome-ignore lint/performance/noReExportAll: the index file is the only list of the published names
export * from "./arbitraries/index.ts";
// biome-ignore lint/performance/noReExportAll: the index file is the only list of the published names
export * from "./contracts/index.ts";
export type { ReleaseCommand } from "./models/release-commands.ts";
export { releaseLife } from "./models/release-life.ts";
export { emptyReleases, type ReleaseModel, type ReleaseSystem } from "./models/release-model.ts";
export { command, type StorageCommand } from "./models/storage-commands.ts";
export { storageAccounts, storageLife } from "./models/storage-life.ts";
export { emptyModel, expectAgreement, type StorageModel, type StorageSystem } from "./models/storage-model.ts";
// biome-ignore lint/performance/noReExportAll: the index file is the only list of the published names
export * from "./simulation/index.ts";
