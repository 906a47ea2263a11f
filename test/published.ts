/**
 * `portside/testing`: for authors of adapters, embedders of the control plane, and authors of deploy policies.
 *
 * - the contract suites of the ports: `contractTests("my platform", servicePlatformCases, start, capabilities)`
 * - generators of valid and invalid requests, and of data that providers must store
 * - a model of volumes, objects and mounts, and commands to compare a system with it
 * - a simulated cloud with a simulated clock, and one deploy on it
 */
import { needPackages } from "../adapters/shared/runtime/optional-package.ts";

export type * from "./suites.ts";

/** Loaded from here, so that an error about a missing optional package names the package and not an internal file. */
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
