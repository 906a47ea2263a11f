/** Streams the events of a rollout on a cloud, and converts exceptions to failures. */
import type { RolloutEvent, ServicePlatform } from "../../../core/ports/service-platform.ts";
import type { Logger } from "../../../core/ports/system.ts";
import { failed, INTERRUPTED, OWN_BUG } from "../../shared/deploy/rollout-ends.ts";
import { streamProgress } from "../../shared/runtime/channel.ts";

type RolloutRequest = Parameters<ServicePlatform["rollout"]>[0];

/** @param run performs the rollout, reports progress, and returns the final event */
export const streamRollout =
  (
    logger: Logger,
    run: (request: RolloutRequest, signal: AbortSignal, say: (message: string) => void) => Promise<RolloutEvent>,
  ): ServicePlatform["rollout"] =>
  (request, { signal = new AbortController().signal } = {}) =>
    streamProgress<RolloutEvent, RolloutEvent>(async (emit) => {
      if (signal.aborted) return failed(INTERRUPTED);
      try {
        return await run(request, signal, (message) => emit({ kind: "progress", message }));
      } catch (cause) {
        logger.error("a rollout failed because of an internal error", { name: request.template.name, cause });
        return failed(OWN_BUG);
      }
    });
