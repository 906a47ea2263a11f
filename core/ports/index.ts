/** The ports that an adapter implements, with the domain types and errors that the ports refer to. */
export type { AccountId, CredentialKind, Principal } from "../domain/accounts/account.ts";
export {
  linkExpiry,
  principalOfSession,
  type Session,
  type SessionCredential,
  sessionExpiry,
} from "../domain/accounts/session.ts";
export type { Environment } from "../domain/deploy/environment.ts";
export type { DeployOutcome, DeployStatus } from "../domain/deploy/events.ts";
export type { InstanceState, InstanceStatus } from "../domain/deploy/instance-status.ts";
export type { Expected } from "../domain/deploy/plan.ts";
export { type DeployFailure, type DeployReason, deployReasons } from "../domain/deploy/reason.ts";
export type {
  ReleaseAuthor,
  ReleasedService,
  ReleaseOrigin,
  StoredRelease,
} from "../domain/deploy/releases/release.ts";
export { keptImages, oldestRecorded, prunedImages } from "../domain/deploy/releases/retention.ts";
export type { ResourceCatalogue, ResourceSize } from "../domain/deploy/resources.ts";
export type { Revision, Service, ServiceSpec, ServiceTemplate } from "../domain/deploy/service-template.ts";
export type { DomainTarget } from "../domain/domains/dns-records.ts";
export type { CustomDomain, DomainRecord, DomainStatus, StoredDomain } from "../domain/domains/domain.ts";
export type { DomainName, RegisteredDomain } from "../domain/domains/domain-name.ts";
export type { Period } from "../domain/domains/renewal.ts";
export {
  before,
  behind,
  comparePositions,
  type LogPosition,
  nameCode,
  nextPosition,
  ordinalCode,
} from "../domain/logs/cursor.ts";
export {
  type HttpRequestLog,
  isWritable,
  type LogEntry,
  type LogName,
  type NewLogEntry,
  type Severity,
} from "../domain/logs/entry.ts";
export { lowerBound } from "../domain/logs/filter/bounds.ts";
export { matcherOf } from "../domain/logs/filter/match.ts";
export type { CompilePattern } from "../domain/logs/filter/pattern.ts";
export { printLogFilter } from "../domain/logs/filter/print.ts";
export { type LogRecord, recordOf } from "../domain/logs/filter/record.ts";
export { type Comparison, conjuncts, everything, type FieldPath, type LogFilter } from "../domain/logs/filter/tree.ts";
export { bucketOf, type SeverityCounts } from "../domain/logs/histogram.ts";
export { fitting } from "../domain/logs/page-size.ts";
export { type CronJob, cronJobOf } from "../domain/schedules/cron-job.ts";
export type { Schedule } from "../domain/schedules/schedule.ts";
export type { PendingRedeploys } from "../domain/secrets/redeploys.ts";
export type { PinnedSecret, PinnedSecrets } from "../domain/secrets/references.ts";
export type { SecretVersion, StoredSecret } from "../domain/secrets/secret.ts";
export type { SqlColumn, SqlValue } from "../domain/sql/answer.ts";
export type { StatementPart, StatementSummary } from "../domain/sql/statement.ts";
export { type MetricWindow, type MinuteRollup, type ObservedTime, sumSteps } from "../domain/usage/metrics.ts";
export type { Rollup } from "../domain/usage/rollup.ts";
export {
  freeSubscription,
  mostRelevant,
  type Subscription,
  type SubscriptionStatus,
} from "../domain/usage/subscription.ts";
export type { BoundMount, Mount } from "../domain/volumes/mounts.ts";
export { comparePaths, type ObjectPath, objectPathProblem, parseObjectPath } from "../domain/volumes/object-path.ts";
export type { DeletedVolume } from "../domain/volumes/volume.ts";
export { type Present, writeConflict } from "../domain/volumes/write-condition.ts";
export { type Capabilities, capabilitiesSchema, type Feature, missing, offered } from "../domain/wire/capabilities.ts";
export { type Finding, fail, pass, warn } from "../domain/wire/check.ts";
export {
  type Instant,
  instantOfMillis,
  millisOf,
  parseInstant,
  type Timestamp,
  timestampOf,
} from "../domain/wire/instant.ts";
export { type Issue, type IssueType, issue } from "../domain/wire/issue.ts";
export type { DeploymentName, SecretName, VolumeName } from "../domain/wire/names.ts";
export {
  type Conflict,
  type ControlPlaneError,
  conflict,
  type ErrorKind,
  type Forbidden,
  forbidden,
  type Internal,
  type InvalidInput,
  internal,
  type NotFound,
  notFound,
  type RateLimited,
  type Unauthenticated,
  type Unavailable,
  type Unsupported,
  unauthenticated,
  unavailable,
  unsupported,
} from "../errors.ts";
export { err, errAsync, ok, okAsync, Result, ResultAsync } from "../result.ts";
export type { ApiKey, ApiKeys, Authenticator, Credential, TokenIssuer } from "./authenticator.ts";
export type { Billing } from "./billing.ts";
export type {
  CertificateAuthority,
  CertificateRequest,
  Challenge,
  ChallengeResponder,
  OrderFailed,
  RenewalAdvice,
} from "./certificate-authority.ts";
export type { DnsResolver, DnsType, DomainPorts, DomainStore } from "./domain-store.ts";
export type { BuildEvent, BuildRequest, ImageBuilder } from "./image-builder.ts";
export type {
  EarlierFindings,
  LogCountQuery,
  LogCounts,
  LogFindings,
  LogQuery,
  LogScope,
  LogStore,
} from "./log-store.ts";
export { MAX_METRIC_SCOPES, type MetricScope, type MetricStore } from "./metric-store.ts";
export { CONTRACT_VERSION, type Identity, type Ports, type Provider } from "./provider.ts";
export type {
  ConfigIssue,
  ConfigResult,
  ConfigSchema,
  LoadedProvider,
  ProviderModule,
  RuntimeDeps,
} from "./provider-module.ts";
export type { ScheduledService, Scheduler } from "./scheduler.ts";
export type { SecretStore } from "./secret-store.ts";
export type {
  ListOptions,
  NameState,
  ReleaseOptions,
  RolloutEvent,
  RolloutRequest,
  ServicePlatform,
} from "./service-platform.ts";
export type { CreateSessionOptions, SessionHolder, SessionSecrets, Sessions } from "./sessions.ts";
export type { ReceivedSource, ReceiveOptions, Source, SourceSpool } from "./source-spool.ts";
export {
  isSqlFailure,
  type SqlEngine,
  type SqlFailure,
  type SqlLimits,
  type SqlRows,
  type SqlScope,
} from "./sql-engine.ts";
export type { CallOptions, Clock, Ids, Logger } from "./system.ts";
export { type Load, noTelemetry, type Telemetry } from "./telemetry.ts";
export type {
  Grant,
  ObjectEntry,
  ObjectListing,
  ObjectQuery,
  PartsGrant,
  PendingUpload,
  StoredVolume,
  UploadsInParts,
  VolumeState,
  VolumeStore,
} from "./volume-store.ts";
