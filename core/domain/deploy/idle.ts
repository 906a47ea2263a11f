/** Idle modes: how the platform treats an instance that receives no requests. */
import { err, ok, type Result } from "../../result.ts";
import { type Issue, issue } from "../wire/issue.ts";

/** The valid values of the deploy field `idle`. */
export const idleModes = ["freeze", "stop"] as const;

/** `freeze`: an idle instance pauses and keeps its memory until its next request. `stop`: an idle instance stops. */
export type IdleMode = (typeof idleModes)[number];

const isIdleMode = (raw: unknown): raw is IdleMode => idleModes.some((mode) => mode === raw);

/** Parses the field. Returns null for `null`, which selects the platform's default. */
export const parseIdleField = (raw: unknown): Result<IdleMode | null, readonly Issue[]> => {
  if (raw === null || raw === "null") return ok(null);
  return isIdleMode(raw) ? ok(raw) : err([issue([], "must be 'freeze', 'stop' or null", "value_error")]);
};
