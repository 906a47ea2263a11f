/** Port for builds: turns a source archive into an image. */
import type { AccountId } from "../domain/accounts/account.ts";
import type { DeployFailure } from "../domain/deploy/reason.ts";
import type { DeploymentName } from "../domain/wire/names.ts";
import type { Source } from "./source-spool.ts";
import type { CallOptions } from "./system.ts";

export interface BuildRequest {
  readonly owner: AccountId;
  readonly name: DeploymentName;
  readonly deployId: string;
  /** A validated source. The builder reads it and must not discard it. */
  readonly source: Source;
}

export type BuildEvent =
  /** One line of build output, or a message of the builder, without the line break. */
  | { readonly kind: "progress"; readonly message: string }
  | { readonly kind: "built"; readonly image: string }
  | { readonly kind: "failed"; readonly failure: DeployFailure };

export interface ImageBuilder {
  /**
   * Builds an image. Yields progress while it happens, and exactly one `built` or `failed` as its last event. Never throws.
   *
   * The image reference is content-addressed within the account: the same source returns the same image, and must not be
   * built twice. The image must stay usable until a rollout of the same deploy has ended. If `signal` aborts, the builder
   * must end all processes of the build, remove partial results, and yield `failed` with the reason `interrupted` within
   * 5 s.
   */
  build(request: BuildRequest, options?: CallOptions): AsyncIterable<BuildEvent>;
}
