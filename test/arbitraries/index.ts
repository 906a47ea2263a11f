/**
 * Generators of `portside/testing`: valid and invalid requests, and data that providers must store.
 *
 * ```ts
 * fc.assert(fc.property(serviceTemplate(), (template) => {
 *   expect(parse(render(template))).toEqual(template);
 * }));
 * ```
 */
export { type BrokenRequestCase, brokenDeployRequest } from "./broken-requests.ts";
export { refusedCrons } from "./broken-schedules.ts";
export { refusedMountPaths } from "./broken-storage.ts";
export { character } from "./characters.ts";
export { type DeployRequestCase, deployRequest } from "./deploy-requests.ts";
export { domainName } from "./domains.ts";
export { environment, variableName, variableValue } from "./environments.ts";
export { hostileFilters } from "./hostile-filters.ts";
export { firstInstant, instant, lastInstant, logPosition } from "./instants.ts";
export { logEntry, logFilter, logInstant, logWord, newLogEntry } from "./log-filters.ts";
export { type MountCase, mountDeclaration, mountPath, mounts } from "./mounts.ts";
export { accountId, deploymentName, volumeName, writtenDeploymentName } from "./names.ts";
export { nastyString, nastyStrings } from "./nasty-strings.ts";
export {
  cloudRunLikeCatalogue,
  fargateLikeCatalogue,
  type MemoryQuantity,
  memoryQuantity,
  resourceCatalogue,
  resourcesWithin,
} from "./resources.ts";
export { type CronCase, cronCase, cronExpression, schedule, timezone } from "./schedules.ts";
export { pinnedSecrets, secretName, secretReferences, secretValue, storedSecrets } from "./secrets.ts";
export { serviceSpec, serviceTemplate } from "./service-templates.ts";
