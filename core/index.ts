/** The public surface of `portside`: the control plane, its pure rules, and every type and schema of the contract. */
export {
  type CapabilitiesAnswer,
  type ControlPlane,
  createControlPlane,
  type DeployRequest,
  type DeployRun,
  type PlanAnswer,
} from "./control-plane.ts";
export {
  type AccountId,
  accountOf,
  isAccount,
  isKeyAccount,
  mayMakeCredentials,
  mayUse,
  type NameHolder,
  type Principal,
  parseAccount,
} from "./domain/account.ts";
export { ArchiveContents, type ArchiveEntry } from "./domain/archive.ts";
export { type Capabilities, capabilitiesSchema, type Feature, missing, offered } from "./domain/capabilities.ts";
export {
  type DeclareContext,
  type DeployDeclaration,
  declareDeploy,
  type SourceReference,
} from "./domain/deploy-declaration.ts";
export {
  advance,
  type DeployEvent,
  type DeployOutcome,
  type DeployPhase,
  type DeployStatus,
  deployEventSchema,
  isFinal,
} from "./domain/deploy-events.ts";
export {
  type Change,
  type DeployPlan,
  type Expected,
  planDeploy,
  planInWords,
  type ScheduleStep,
} from "./domain/deploy-plan.ts";
export { type DeployFailure, type DeployReason, deployReasonSchema, deployReasons } from "./domain/deploy-reason.ts";
export { type Deployment, deploymentOf, deploymentSchema } from "./domain/deployment.ts";
export { type Environment, readEnvironment } from "./domain/environment.ts";
export { nextFire, nextFires } from "./domain/fire-times.ts";
export {
  type Instant,
  instantOfMillis,
  millisOf,
  parseDateTime,
  parseInstant,
  type Timestamp,
  timestampOf,
} from "./domain/instant.ts";
export { type Issue, type IssueType, issueTypes } from "./domain/issue.ts";
export {
  type AccountLimits,
  accountLimits,
  archiveLimits,
  type DeployLimits,
  deployLimits,
  fieldLimits,
  type LogLimits,
  logLimits,
} from "./domain/limits.ts";
export { comparePositions, cursorOf, type LogPosition, parseCursor } from "./domain/log-cursor.ts";
export {
  type LogEntry,
  type LogPage,
  messageOf,
  type NewLogEntry,
  type Severity,
  severities,
} from "./domain/log-entry.ts";
export { matcherOf } from "./domain/log-filter/match.ts";
export { parseLogFilter } from "./domain/log-filter/parse.ts";
export type { CompilePattern } from "./domain/log-filter/pattern.ts";
export { printLogFilter } from "./domain/log-filter/print.ts";
export { describeProblem, type FilterProblem } from "./domain/log-filter/problem.ts";
export { type LogRecord, recordOf } from "./domain/log-filter/record.ts";
export type { LogFilter } from "./domain/log-filter/tree.ts";
export { readLine } from "./domain/log-line.ts";
export { type Mount, type MountDeclaration, mountPathProblem, readMounts, renderMounts } from "./domain/mounts.ts";
export {
  type DeploymentName,
  deploymentNameProblem,
  normalizeDeploymentName,
  parseDeploymentName,
  parseVolumeName,
  reservedNames,
  type VolumeName,
  volumeNameProblem,
} from "./domain/names.ts";
export {
  adjust,
  applyPolicies,
  type FieldChange,
  type Policy,
  type PolicyFields,
  type PolicyQuestion,
  type Ruled,
  type Ruling,
  veto,
} from "./domain/policy.ts";
export { PROJECT_FILE, type Project, readProject } from "./domain/project-file.ts";
export {
  type Adjustment,
  explainFit,
  fitResources,
  formatMemory,
  parseMemory,
  type ResourceCatalogue,
  type ResourceSize,
  type Resources,
} from "./domain/resources.ts";
export { type CronFields, isTimeZone, parseCron, readSchedule, type Schedule } from "./domain/schedule.ts";
export {
  type Declared,
  type Revision,
  type Service,
  type ServiceSpec,
  type ServiceStatus,
  type ServiceTemplate,
  statusOf,
} from "./domain/service-template.ts";
export { parseStrictJson, type StrictJson } from "./domain/strict-json.ts";
export {
  freeSubscription,
  type Subscription,
  type SubscriptionStatus,
  subscriptionSchema,
} from "./domain/subscription.ts";
export { writeConflict } from "./domain/write-condition.ts";
export { type ControlPlaneError, type ErrorKind, errorKinds } from "./errors.ts";
export { err, errAsync, ok, okAsync, Result, ResultAsync } from "./result.ts";
export type { Settings, SettingsInput } from "./use-cases/context.ts";
export type { Raw } from "./use-cases/raw.ts";
