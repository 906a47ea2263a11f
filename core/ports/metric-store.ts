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

/** Stores the metrics of deployments for `capabilities.metrics.retention_days`. */
export interface MetricStore {
  /**
   * Returns one rollup for each step of the window: the sum of the deployment's rollups in that step. A step must be
   * null if the platform observed nothing in it, and must not be null if the platform ran but the deployment was idle.
   *
   * Activity must appear in the rollups within one minute. Fails with `unavailable` if the store cannot be read.
   */
  read(
    scope: MetricScope,
    window: MetricWindow,
    options?: CallOptions,
  ): ResultAsync<readonly (Rollup | null)[], Unavailable>;
}
