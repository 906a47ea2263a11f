/** Computes Cloud Run's traffic targets (run/v2/traffic_target.proto). Pure functions. */
import type { RunService } from "./render.ts";
import type { CurrentState } from "./writes.ts";

export type Traffic = NonNullable<RunService["traffic"]>;

const toRevision = (revision: string, percent: number, tag = ""): Traffic[number] => ({
  type: "TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION",
  revision,
  percent,
  ...(tag === "" ? {} : { tag }),
});

/** Targets without traffic for the tagged URLs that were added by hand. */
const tagged = (run: RunService | null): Traffic =>
  (run?.traffic ?? []).flatMap(({ revision, tag }) => (tag && revision ? [toRevision(revision, 0, tag)] : []));

const isToLatest = ({ type }: Traffic[number]): boolean =>
  type === "TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST" || type === 1;

/**
 * Returns targets that leave traffic unchanged. Prefers the requested targets, because the actual ones may be empty
 * while Cloud Run reconciles. If a requested target is the latest revision, uses the revisions that have traffic now.
 * Without any targets, Cloud Run sends all traffic to the latest ready revision.
 */
export const unchangedTraffic = ({ run, own }: CurrentState): Traffic => {
  const requested = run?.traffic ?? [];
  if (requested.length > 0 && !requested.some(isToLatest)) return requested;
  if (own === undefined || own.traffic.length === 0) return [];
  return [...own.traffic.map(({ id, percent }) => toRevision(id, percent)), ...tagged(run)];
};

export const allTraffic = (revision: string, run: RunService | null): Traffic => [
  toRevision(revision, 100),
  ...tagged(run),
];
