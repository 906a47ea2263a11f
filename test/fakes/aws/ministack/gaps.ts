/** What ministack 1.5.33 does not have, by the step of `portside prove` or the check of `portside doctor`, and why. */
export const missingSteps = {
  mount: "ministack's tasks ignore s3filesVolumeConfiguration: _docker_binds_from_taskdef in services/ecs.py",
  sql: "ministack's Athena runs DuckDB instead of Trino, and its log group does not deliver to Firehose",
} as const;

/** ministack has no Service Quotas, so the doctor assumes AWS's documented values. */
export const isMissingCheck = (what: string): boolean => what.startsWith("quota: ");
