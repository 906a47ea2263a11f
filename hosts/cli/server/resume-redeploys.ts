/** Resumes the redeploys for new values of secrets when a server starts. */
import type { ControlPlane } from "../../../core/control-plane.ts";
import type { Platform } from "../../composition/build-platform.ts";

const FIRST_PAUSE_MS = 60_000;
const LONGEST_PAUSE_MS = 3_600_000;

export interface ResumeDeps {
  readonly controlPlane: Pick<ControlPlane, "resumeRedeploys">;
  readonly clock: Pick<Platform["ports"]["clock"], "sleep">;
  readonly log: Record<"info" | "warn", (fields: object, message: string) => void>;
  /** Aborts when the server stops. */
  readonly stopping: AbortSignal;
}

/**
 * Retries until the redeploys resume or the server stops, because a server often starts during an outage of its cloud.
 * The delay doubles after each attempt, to at most an hour.
 */
export const resumeRedeploys = async ({ controlPlane, clock, log, stopping }: ResumeDeps): Promise<void> => {
  for (let pauseMs = FIRST_PAUSE_MS; !stopping.aborted; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    const resumed = await controlPlane.resumeRedeploys();
    if (resumed.isOk()) {
      if (resumed.value > 0) log.info({ count: resumed.value }, "resumed the redeploys for new values of secrets");
      return;
    }
    if (stopping.aborted) return;
    log.warn({ error: resumed.error, pauseMs }, "could not resume all redeploys for new values of secrets; will retry");
    await clock.sleep(pauseMs, stopping);
  }
};
