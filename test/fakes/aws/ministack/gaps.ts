/**
 * The steps of `portside prove` and the checks of `portside doctor` that ministack 1.5.33 does not support, and why.
 */
export const missingSteps = {
  mount: "ministack's tasks ignore s3filesVolumeConfiguration: _docker_binds_from_taskdef in services/ecs.py",
  sql: "ministack's Athena runs DuckDB instead of Trino, and its log group does not deliver to Firehose",
} as const;

/** ministack has no Service Quotas, so the doctor assumes AWS's documented values. */
export const isMissingCheck = (what: string): boolean => what.startsWith("quota: ");
