/** The limits of the contract as data, for validation, schemas, help texts and docs. */

export const KiB = 1024;
export const MiB = 1024 * KiB;
export const GiB = 1024 * MiB;

/** Inclusive bounds of the deploy fields, and their defaults. */
export const fieldLimits = {
  port: { min: 1, max: 65_535, default: 8080 },
  timeout: { min: 1, max: 3600, default: 600 },
  cpu: { min: 0.25, default: 1 },
  concurrency: { min: 1, max: 1000, default: 80 },
  max_instances: { min: 0, max: 1000, default: 0 },
  min_instances: { min: 0, max: 1000 },
  memory: { minBytes: 128 * MiB, default: "1Gi" },
  env: { maxBytes: 32 * KiB },
  mounts: { max: 10 },
  logs: { min: 1, max: 1000, default: 100 },
  objects: { min: 1, max: 1000, default: 1000 },
} as const;

/** Limits of an uploaded source archive, enforced while it arrives. */
export const archiveLimits = {
  fileBytes: 100 * MiB,
  entries: 50_000,
  unpackedBytes: 2 * GiB,
  entryBytes: 512 * MiB,
  /** Maximum number of parts in a path: the folders, and the entry itself. */
  depth: 64,
  pathBytes: 1024,
  /** Maximum bytes of each name in a path, as in most file systems. */
  partBytes: 255,
} as const;

/** Maximum bytes of a `source_object` archive, for sources too large to send with the request. */
export const sourceObjectBytes = 2 * GiB;

/** Deadline for unpacking an archive, in milliseconds. The largest archive takes a fifth of this on a slow disk. */
export const unpackDeadlineMs = 5 * 60_000;

export type ArchiveLimits = { readonly [K in keyof typeof archiveLimits]: number };

/** The default quotas of an account. The setting `accountLimits` overrides them. */
export const accountLimits = {
  deployments: 50,
  instances: 200,
  volumes: 100,
  domains: 50,
  buildsAtOnce: 2,
  uploadsAtOnce: 2,
  sqlAtOnce: 1,
  requestsPerMinute: 3000,
} as const;

/** Quotas of an account. See `accountLimits` for the defaults. */
export type AccountLimits = { readonly [K in keyof typeof accountLimits]: number };

/** How many recent deploys a list may contain. */
export const deployListLimits = { min: 1, max: 100, default: 20 } as const;

/** Limits of a deploy. Times are in milliseconds. */
export const deployLimits = {
  buildDeadlineMs: 15 * 60_000,
  listenDeadlineMs: 60_000,
  rolloutDeadlineMs: 5 * 60_000,
  scheduleDeadlineMs: 60_000,
  /** Time without a record after which a running deploy repeats its last status. */
  heartbeatMs: 15_000,
  /** Maximum time for which a client can follow a finished deploy by its id. */
  keptMs: 60 * 60_000,
  queuedPerName: 5,
  /** The stream contains the first and last parts of the build output, up to these limits. A record marks the gap. */
  outputLines: 20_000,
  outputBytes: 4 * MiB,
  lastOutputLines: 1000,
  lastOutputBytes: 256 * KiB,
  /** Longer lines of build output are truncated. */
  lineBytes: 8 * KiB,
  logTailLines: 20,
} as const;

/**
 * Deadlines on clouds, in milliseconds. Longer than the defaults, because a cloud allocates machines and pulls images.
 */
export const cloudDeadlines = {
  buildDeadlineMs: 30 * 60_000,
  listenDeadlineMs: 5 * 60_000,
  rolloutDeadlineMs: 15 * 60_000,
} as const;

/** Limits of a deploy. See `deployLimits` for the defaults and units. */
export type DeployLimits = { readonly [K in keyof typeof deployLimits]: number };

/** Allows for calls that end after their deadline, and for clock skew between servers. */
const DEPLOY_SLACK_MS = 15 * 60_000;

/**
 * Returns the maximum duration of a deploy in milliseconds. An older deploy without an outcome counts as interrupted,
 * because its server probably stopped. The duration excludes the wait for the account's other builds, which has no
 * limit: a deploy that waits too long counts as interrupted until it stores its outcome. The build deadline counts
 * twice, because it also applies to fetching the source.
 */
export const abandonedAfterMs = ({
  buildDeadlineMs,
  rolloutDeadlineMs,
  scheduleDeadlineMs,
}: Pick<DeployLimits, "buildDeadlineMs" | "rolloutDeadlineMs" | "scheduleDeadlineMs">): number =>
  2 * buildDeadlineMs + rolloutDeadlineMs + scheduleDeadlineMs + DEPLOY_SLACK_MS;

/** Limits of the console's sessions. Times are in milliseconds. */
export const sessionLimits = {
  lifeMs: 12 * 60 * 60_000,
  /** How long a sign-in link is valid. */
  linkMs: 60_000,
  /** How often the server checks that the session of an open stream has not ended. Also the deadline of each check. */
  checkMs: 4000,
  /** Maximum number of sessions of an account. */
  perAccount: 100,
  /** Failed attempts to sign in with a key per minute and network address. */
  signInsPerMinute: 20,
} as const;

/** Limits of a schedule's fires. Times are in milliseconds. */
export const fireLimits = {
  /** The delays before the first, second and third retry. */
  retryDelays: [5000, 10_000, 20_000],
  /** Maximum delay of a fire. The platform skips a fire that it would start later. */
  lateness: 60_000,
  /** Maximum number of a schedule's unfinished fires that clients requested. */
  requested: 10,
} as const;

/** Limits of a deployment's releases. */
export const releaseLimits = {
  /** The number of releases whose images are kept. The setting `releasesKept` overrides the default. */
  kept: { min: 1, max: 100, default: 10 },
  /** The number of releases whose records are kept. */
  recorded: 100,
  /** Maximum characters of a release's message. */
  messageChars: 200,
  /** Releases in one page of the list. */
  page: { min: 1, max: 100, default: 20 },
} as const;

/** Limits of secrets. */
export const secretLimits = {
  /** Maximum number of secrets of an account. */
  count: 100,
  /** Maximum UTF-8 bytes of a value. */
  valueBytes: 64 * KiB,
  /**
   * How many of a secret's newest versions are kept. Older versions are kept while deployments or kept releases use
   * them.
   */
  versionsKept: 10,
} as const;

/** Limits of log requests. */
export const logLimits = {
  /** Milliseconds after which a search returns the entries found so far. */
  timeoutMs: 20_000,
  /** Maximum characters of a filter. */
  filterChars: 20_000,
  /** Maximum time for which a request may wait for an entry, in seconds. */
  waitSeconds: 25,
  /** Maximum number of requests of an account that wait for an entry. Further requests do not wait. */
  waitingAtOnce: 20,
  /** Maximum number of buckets of a histogram. */
  buckets: 500,
  /** Maximum number of entries that a list of values examines. */
  valueEntries: 10_000,
} as const;

/** Limits of log requests. See `logLimits` for the defaults and units. */
export type LogLimits = { readonly [K in keyof typeof logLimits]: number };

/** Limits of an object's path, in UTF-8 bytes. */
export const objectPathLimits = { bytes: 1024, partBytes: 255 } as const;

/** Limits of a SQL query. */
export const sqlLimits = {
  /** Milliseconds from the start of the statement to its last row. */
  timeoutMs: 30_000,
  rows: 10_000,
  bytes: 16 * MiB,
  /** Maximum characters of a statement. */
  chars: 20_000,
} as const;

/** Limits of a cost report. */
export const costLimits = {
  /** Maximum length of the period. */
  days: 366,
  /** The length of the period if the request omits `since`. */
  defaultDays: 30,
  /** Milliseconds after which the search of the logs ends with a partial report. */
  searchMs: 20_000,
  /** Usage lines in one page of a log. */
  page: 1000,
} as const;

/** Lifetime of signed URLs in minutes. */
export const grantMinutes = { upload: 60, download: 15 } as const;

/**
 * Maximum number of a volume's incomplete uploads in parts. A cloud lists that many in one page, so one call suffices
 * to count them.
 */
export const pendingUploadsMax = 1000;

/** Hours after which an upload in parts expires. The storage then deletes its parts. */
export const uploadHours = 24;

/** Days for which a deleted volume can be restored. */
export const trashDays = 7;

/** Days for which a freed deployment name is reserved for its former owner, if the provider supports it. */
export const freedNameDays = 7;
