/**
 * `portside/testing`: for whoever writes an adapter, embeds the control plane, or has rules of their own about deploys.
 *
 * - the contract suites of the ports: `contractTests("my platform", servicePlatformCases, start, capabilities)`
 * - generators of what clients may send and may not, and of what providers have to keep
 * - a model of volumes, objects and mounts, with the commands that a system is compared by
 * - a cloud on a clock of the test's own, and one deploy on it
 */
import { needPackages } from "../adapters/shared/runtime/optional-package.ts";

export type * from "./suites.ts";

/** Loaded from here, so that whoever lacks an optional package is told its name, and not that of a file of ours. */
const suites = await needPackages("portside/testing", ["vitest", "fast-check"], () => import("./suites.ts"));

export const {
  accountId,
  billingCases,
  brokenDeployRequest,
  character,
  clockCases,
  cloudRunLikeCatalogue,
  command,
  contractTests,
  createSimulatedCloud,
  cronCase,
  cronExpression,
  deploymentName,
  deployRequest,
  durableCases,
  emptyModel,
  environment,
  expectAgreement,
  fargateLikeCatalogue,
  firstInstant,
  freshNames,
  hostileFilters,
  identityCases,
  idsCases,
  imageBuilderCases,
  instant,
  lastInstant,
  logEntry,
  logFilter,
  logInstant,
  logPosition,
  logSearchCases,
  logStoreCases,
  logWord,
  memoryQuantity,
  mountDeclaration,
  mountPath,
  mounts,
  nastyString,
  nastyStrings,
  newLogEntry,
  providerCases,
  refusedCrons,
  refusedMountPaths,
  resourceCatalogue,
  resourcesWithin,
  runningCases,
  runningServiceCases,
  runningVolumeCases,
  schedule,
  schedulerCases,
  servicePlatformCases,
  serviceSpec,
  serviceTemplate,
  simulateDeploy,
  sourceSpoolCases,
  sqlEngineCases,
  storageAccounts,
  storageLife,
  storedCases,
  timezone,
  variableName,
  variableValue,
  volumeName,
  volumeObjectCases,
  volumeStoreCases,
  writtenDeploymentName,
} = suites;
