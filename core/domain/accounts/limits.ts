/** Every bound of the contract as data; schemas, help texts, docs and generators read it from here. */

export const KiB = 1024;
export const MiB = 1024 * KiB;
export const GiB = 1024 * MiB;

/** Bounds of the deploy fields: inclusive, with the default where the field has one. */
export const fieldLimits = {
  port: { min: 1, max: 65_535, default: 8080 },
  timeout: { min: 1, max: 3600, default: 600 },
  cpu: { min: 1, default: 1 },
  concurrency: { min: 1, max: 1000, default: 80 },
  max_instances: { min: 0, max: 1000, default: 0 },
  memory: { minBytes: 128 * MiB, default: "1Gi" },
  env: { maxBytes: 32 * KiB },
  mounts: { max: 10 },
  logs: { min: 1, max: 1000, default: 100 },
  objects: { min: 1, max: 1000, default: 1000 },
} as const;

/** Bounds of an uploaded source archive, checked while it is received. */
export const archiveLimits = {
  fileBytes: 100 * MiB,
  entries: 50_000,
  unpackedBytes: 2 * GiB,
  entryBytes: 512 * MiB,
  depth: 64,
  pathBytes: 1024,
  /** Of each name in a path, as file systems have it. */
  partBytes: 255,
} as const;

/** Bytes of an archive that a deploy names with `source_object`: for sources too large to be sent. */
export const sourceObjectBytes = 2 * GiB;

/** Milliseconds that unpacking one archive may take: a slow disk writes the largest archive in a fifth of it. */
export const unpackDeadline = 5 * 60_000;

export type ArchiveLimits = { readonly [K in keyof typeof archiveLimits]: number };

/** What one account may hold or do; a setting, these are the defaults. */
export const accountLimits = {
  deployments: 50,
  instances: 200,
  volumes: 100,
  buildsAtOnce: 2,
  uploadsAtOnce: 2,
  sqlAtOnce: 1,
  requestsPerMinute: 3000,
} as const;

export type AccountLimits = { readonly [K in keyof typeof accountLimits]: number };

/** Bounds of a deploy's run. Times are milliseconds. */
export const deployLimits = {
  buildDeadline: 15 * 60_000,
  listenDeadline: 60_000,
  rolloutDeadline: 5 * 60_000,
  scheduleDeadline: 60_000,
  /** A silent step repeats its status at least this often. */
  heartbeat: 15_000,
  /** How long a finished run can be resumed by its id. */
  kept: 60 * 60_000,
  queuedPerName: 5,
  /** The stream shows the first part of a build's output up to these bounds, and the last part; a record says the cut. */
  outputLines: 20_000,
  outputBytes: 4 * MiB,
  lastOutputLines: 1000,
  lastOutputBytes: 256 * KiB,
  /** A single line of build output is cut here. */
  lineBytes: 8 * KiB,
  logTailLines: 20,
} as const;

/** Where machines are had over a network, and images are pulled to them. */
export const cloudDeadlines = {
  buildDeadline: 30 * 60_000,
  listenDeadline: 5 * 60_000,
  rolloutDeadline: 15 * 60_000,
} as const;

export type DeployLimits = { readonly [K in keyof typeof deployLimits]: number };

/** Bounds of the fires of a schedule. Times are milliseconds. */
export const fireLimits = {
  /** How long after the end of a failed attempt the next one begins; there are as many retries as delays. */
  retryDelays: [5000, 10_000, 20_000],
  /** A fire that is found later than this is left out. */
  lateness: 60_000,
} as const;

/** Bounds of reading logs. */
export const logLimits = {
  /** Milliseconds of scanning, after which a page ends with what was found. */
  patience: 20_000,
  /** Characters of a filter. */
  filterChars: 20_000,
} as const;

export type LogLimits = { readonly [K in keyof typeof logLimits]: number };

/** Bounds of an object's path, in bytes of UTF-8. */
export const objectPathLimits = { bytes: 1024, partBytes: 255 } as const;
/** Bounds of a SQL query. */
export const sqlLimits = {
  /** Milliseconds. */
  deadline: 30_000,
  rows: 10_000,
  bytes: 16 * MiB,
  /** Characters of a statement. */
  chars: 20_000,
} as const;

export type SqlLimits = { readonly [K in keyof typeof sqlLimits]: number };

/** How long signed URLs are good for, in minutes. */
export const grantMinutes = { upload: 60, download: 15 } as const;

/** A deleted volume can be restored for this long. */
export const trashDays = 7;

/** A freed deployment name stays with its account for this long, where the provider can remember it. */
export const freedNameDays = 7;
