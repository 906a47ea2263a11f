/** Port for builds. A build turns a source archive into an image. */
import type { AccountId } from "../domain/accounts/account.ts";
import type { DeployFailure } from "../domain/deploy/reason.ts";
import type { DeploymentName } from "../domain/wire/names.ts";
import type { Source } from "./source-spool.ts";
import type { CallOptions } from "./system.ts";

/** The input of a build. */
export interface BuildRequest {
  /** The account that owns the deployment. Accounts must not share images. */
  readonly owner: AccountId;
  readonly name: DeploymentName;
  /** The id of the deploy that needs the image. */
  readonly deployId: string;
  /** A source that the spool validated. The builder may open it several times and must not discard it. */
  readonly source: Source;
}

/** An event of a running build. */
export type BuildEvent =
  /** One line of build output or one message of the builder, without the line break. */
  | { readonly kind: "progress"; readonly message: string }
  /** The build succeeded. `image` is a reference that the provider's `ServicePlatform` accepts. */
  | { readonly kind: "built"; readonly image: string }
  /** The build failed. */
  | { readonly kind: "failed"; readonly failure: DeployFailure };

/** Builds images. */
export interface ImageBuilder {
  /**
   * Builds an image from a source.
   *
   * Yields `progress` events while the build produces output, then exactly one `built` or `failed` as the last event.
   * Must not throw.
   *
   * Images are content-addressed within an account. If an image that the account built from the same source still
   * exists, an adapter must yield its reference and must not build again. The image must stay usable until the rollout
   * of the same deploy has ended.
   *
   * If `signal` aborts, the adapter must end all processes of the build, remove partial results, and yield `failed`
   * with the reason `interrupted` within 5 seconds.
   */
  build(request: BuildRequest, options?: CallOptions): AsyncIterable<BuildEvent>;
}
