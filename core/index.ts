/** The public API of `portside`: the control plane, its pure rules, and the types and schemas of the contract. */
export {
  type CapabilitiesResponse,
  type ControlPlane,
  createControlPlane,
  type DeployFields,
  type DeployRequest,
  type DeployRun,
  type PlanResponse,
  type ReleasePage,
  type RequestOptions,
  type RollbackPlanResponse,
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
} from "./domain/accounts/account.ts";
export {
  type AccountLimits,
  accountLimits,
  archiveLimits,
  type DeployLimits,
  deployLimits,
  fieldLimits,
  type LogLimits,
  logLimits,
} from "./domain/accounts/limits.ts";
export { type AccountUsage, accountUsageSchema } from "./domain/accounts/quotas.ts";
export { ArchiveContents, type ArchiveEntry } from "./domain/deploy/archive.ts";
export {
  type DeclareContext,
  type DeployDeclaration,
  declareDeploy,
  type SourceReference,
} from "./domain/deploy/declaration.ts";
export { type DeployList, type DeployRow, deployListSchema } from "./domain/deploy/deploy-list.ts";
export { type Deployment, deploymentOf, deploymentSchema } from "./domain/deploy/deployment.ts";
export { type DeploymentDetails, deploymentDetailsSchema } from "./domain/deploy/deployment-details.ts";
export { type EnvAliases, type Environment, readEnvironment } from "./domain/deploy/environment.ts";
export {
  advance,
  type DeployEvent,
  type DeployOutcome,
  type DeployPhase,
  type DeployStatus,
  deployEventSchema,
} from "./domain/deploy/events.ts";
export type { HealthCheck } from "./domain/deploy/health.ts";
export type { IdleMode } from "./domain/deploy/idle.ts";
export { type InstanceState, type InstanceStatus, instanceStates } from "./domain/deploy/instance-status.ts";
export { isFinal } from "./domain/deploy/outcome.ts";
export {
  type Change,
  type DeployPlan,
  describePlan,
  type Expected,
  type PlannedVolume,
  planDeploy,
  type ScheduleStep,
} from "./domain/deploy/plan.ts";
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
} from "./domain/deploy/policy.ts";
export { type Project, readProject } from "./domain/deploy/project-file.ts";
export { type DeployFailure, type DeployReason, deployReasonSchema, deployReasons } from "./domain/deploy/reason.ts";
export { diffReleases, type ReleaseDiff, releaseDiffSchema } from "./domain/deploy/releases/diff.ts";
export {
  type Release,
  type ReleaseAuthor,
  type ReleaseOrigin,
  type ReleaseRow,
  type ReleaseStatus,
  releaseSchema,
  type StoredRelease,
} from "./domain/deploy/releases/release.ts";
export { keptImages, prunedImages } from "./domain/deploy/releases/retention.ts";
export { declareRelease, defaultRollbackTarget } from "./domain/deploy/releases/rollback.ts";
export {
  type Adjustment,
  explainFit,
  fitResources,
  formatMemory,
  parseMemory,
  type ResourceCatalogue,
  type ResourceSize,
  type Resources,
} from "./domain/deploy/resources.ts";
export {
  type Declared,
  type Revision,
  type Service,
  type ServiceSpec,
  type ServiceStatus,
  type ServiceTemplate,
  statusOf,
} from "./domain/deploy/service-template.ts";
export { PROJECT_FILE } from "./domain/deploy/source/packing.ts";
export { addressRecords, type DomainTarget, type FoundRecords, recordProblems } from "./domain/domains/dns-records.ts";
export {
  type CustomDomain,
  type DomainRecord,
  type DomainRow,
  type DomainStatus,
  domainSchema,
  type StoredDomain,
} from "./domain/domains/domain.ts";
export { type DomainName, parseDomainName, type RegisteredDomain } from "./domain/domains/domain-name.ts";
export {
  type CertificateOrder,
  type CertificateRequest,
  type CountedRequest,
  countRequest,
  type OrderLimits,
  orderLimits,
  orderPermittedAt,
  type RequestLimits,
  requestLimits,
} from "./domain/domains/order-budget.ts";
export { type Period, renewalTime, retryDelayMs } from "./domain/domains/renewal.ts";
export { comparePositions, cursorOf, justBefore, type LogPosition, parseCursor } from "./domain/logs/cursor.ts";
export {
  type HttpRequestLog,
  type JsonPayload,
  type LogEntry,
  type LogName,
  type LogPage,
  messageOf,
  type NewLogEntry,
  type Severity,
  severities,
} from "./domain/logs/entry.ts";
export type { LogValues } from "./domain/logs/field-values.ts";
export { matcherOf } from "./domain/logs/filter/match.ts";
export { parseLogFilter } from "./domain/logs/filter/parse.ts";
export type { CompilePattern } from "./domain/logs/filter/pattern.ts";
export { printLogFilter } from "./domain/logs/filter/print.ts";
export { describeProblem, type FilterProblem } from "./domain/logs/filter/problem.ts";
export { type LogRecord, recordOf } from "./domain/logs/filter/record.ts";
export type { Comparison, FieldPath, Literal, LogFilter } from "./domain/logs/filter/tree.ts";
export type { LogHistogram } from "./domain/logs/histogram.ts";
export { readLine } from "./domain/logs/line.ts";
export type { LastFire } from "./domain/schedules/fire-policy.ts";
export { nextFire, nextFires } from "./domain/schedules/fire-times.ts";
export { type CronFields, isTimeZone, parseCron, readSchedule, type Schedule } from "./domain/schedules/schedule.ts";
export type { PendingRedeploys } from "./domain/secrets/redeploys.ts";
export type { PinnedSecret, PinnedSecrets, SecretReference, SecretReferences } from "./domain/secrets/references.ts";
export {
  type SecretRow,
  type SecretVersion,
  type SetSecretResponse,
  type StoredSecret,
  secretSchema,
  setSecretSchema,
} from "./domain/secrets/secret.ts";
export { rowObjects, type SqlColumn, type SqlResponse, type SqlValue } from "./domain/sql/answer.ts";
export { type SqlSchema, sqlSchemaSchema } from "./domain/sql/tables.ts";
export { type CostReport, costReportSchema } from "./domain/usage/cost.ts";
export type { InstancePrices, RunningPrice } from "./domain/usage/instance-price.ts";
export { type MetricSeries, type Metrics, metricsSchema } from "./domain/usage/metrics.ts";
export {
  freeSubscription,
  type Subscription,
  type SubscriptionStatus,
  subscriptionSchema,
} from "./domain/usage/subscription.ts";
export {
  type BoundMount,
  type Mount,
  type MountDeclaration,
  mountPathProblem,
  readMounts,
  renderMounts,
} from "./domain/volumes/mounts.ts";
export type {
  DownloadGrant,
  MultipartGrant,
  ObjectPage,
  TrashedVolume,
  UploadGrant,
  Volume,
} from "./domain/volumes/volume.ts";
export { writeConflict } from "./domain/volumes/write-condition.ts";
export {
  type AnsweredCapabilities,
  type Capabilities,
  capabilitiesSchema,
  type Feature,
  missing,
  offered,
} from "./domain/wire/capabilities.ts";
export type { RawFields, RequestFields } from "./domain/wire/fields.ts";
export {
  type Instant,
  instantOfMillis,
  millisOf,
  parseDateTime,
  parseInstant,
  type Timestamp,
  timestampOf,
} from "./domain/wire/instant.ts";
export { type Issue, type IssueType, issueTypes } from "./domain/wire/issue.ts";
export {
  type DeploymentName,
  deploymentNameProblem,
  normalizeDeploymentName,
  parseDeploymentName,
  parseVolumeName,
  reservedNames,
  type SecretName,
  secretNameProblem,
  type VolumeName,
  volumeNameProblem,
} from "./domain/wire/names.ts";
export { parseStrictJson, type StrictJson } from "./domain/wire/strict-json.ts";
export {
  type Conflict,
  type ControlPlaneError,
  type ErrorKind,
  errorKinds,
  type Forbidden,
  type Internal,
  type InvalidInput,
  type NotFound,
  type RateLimited,
  type Unauthenticated,
  type Unavailable,
  type Unsupported,
} from "./errors.ts";
export { err, errAsync, ok, okAsync, Result, ResultAsync } from "./result.ts";
export type { CredentialHeaders, ListedKey, NewKey, Token } from "./use-cases/accounts/credentials.ts";
export type { NameCheck } from "./use-cases/deploy/deployments.ts";
export type { Settings, SettingsInput } from "./use-cases/pipeline/context.ts";
export type { CreatedVolume } from "./use-cases/volumes/volumes.ts";
