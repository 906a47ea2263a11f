/** Source in, image out. */
import type { AccountId } from "../domain/account.ts";
import type { DeployFailure } from "../domain/deploy-reason.ts";
import type { DeploymentName } from "../domain/names.ts";
import type { Source } from "./source-spool.ts";
import type { CallOptions } from "./system.ts";

export interface BuildRequest {
  readonly owner: AccountId;
  readonly name: DeploymentName;
  readonly deployId: string;
  /** Walked and safe; the builder reads it and does not discard it. */
  readonly source: Source;
}

export type BuildEvent =
  /** One line of the build's output, or of the builder's own words, without its line end. */
  | { readonly kind: "progress"; readonly message: string }
  | { readonly kind: "built"; readonly image: string }
  | { readonly kind: "failed"; readonly failure: DeployFailure };

export interface ImageBuilder {
  /**
   * Builds an image. Yields progress as it happens, then exactly one of `built` and `failed`, last; never throws.
   *
   * The image reference is content-addressed within the account: the same source gives the same image, and a
   * source that was built before is not built again. An image that was returned stays usable at least until a
   * rollout of the same deploy has ended. When `signal` aborts, every process of the build ends, nothing half
   * built is left, and the iteration ends within 5 s with `failed`, reason `interrupted`.
   */
  build(request: BuildRequest, options?: CallOptions): AsyncIterable<BuildEvent>;
}
