/** Port for the metrics of deployments. */
import type { AccountId } from "../domain/accounts/account.ts";
import type { MetricWindow } from "../domain/usage/metrics.ts";
import type { Rollup } from "../domain/usage/rollup.ts";
import type { DeploymentName } from "../domain/wire/names.ts";
import type { Unavailable } from "../errors.ts";
import type { ResultAsync } from "../result.ts";
import type { CallOptions } from "./system.ts";

/**
 * Identifies the metrics of a deployment. Both fields are required: after a deployment is deleted, another account may
 * use its name and must not read the earlier metrics.
 */
export interface MetricScope {
  readonly owner: AccountId;
  readonly name: DeploymentName;
}

/** The maximum number of deployments in one call of `MetricStore.read`. */
export const MAX_METRIC_SCOPES = 10;

/** Stores the metrics of deployments for `capabilities.metrics.retention_days`. */
export interface MetricStore {
  /**
   * Returns a list for each scope, in the same order, with one rollup for each step of the window: the sum of the
   * deployment's rollups in that step. A step must be null if the platform observed nothing in it, or if the metrics
   * are not available yet. It must not be null if the platform ran but the deployment was idle. A rollup of a longer
   * step covers the observed part of the step.
   *
   * Activity must appear in the rollups within one minute, or within the delay that the note of the capability states.
   * Fails with `unavailable` if the store cannot be read.
   *
   * @param scopes up to `MAX_METRIC_SCOPES`, so that the caller holds few rollups at a time
   */
  read(
    scopes: readonly MetricScope[],
    window: MetricWindow,
    options?: CallOptions,
  ): ResultAsync<readonly (readonly (Rollup | null)[])[], Unavailable>;
}
