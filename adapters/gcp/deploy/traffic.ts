/** Run's traffic targets: everything to one revision, or unchanged. run/v2/traffic_target.proto. Pure. */
import type { RunService } from "./render.ts";
import type { CurrentState } from "./writes.ts";

export type Traffic = NonNullable<RunService["traffic"]>;

const toRevision = (revision: string, percent: number, tag = ""): Traffic[number] => ({
  type: "TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION",
  revision,
  percent,
  ...(tag === "" ? {} : { tag }),
});

/** Tagged URLs of single revisions, added by hand. */
const tagged = (run: RunService | null): Traffic =>
  (run?.traffic ?? []).flatMap(({ revision, tag }) => (tag && revision ? [toRevision(revision, 0, tag)] : []));

const isToLatest = ({ type }: Traffic[number]): boolean =>
  type === "TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST" || type === 1;

/**
 * Leaves traffic unchanged. The requested targets say where it goes, because the actual ones may be empty while Run
 * reconciles. Targets of the newest revision become targets of the present one. Without any, Run's default applies: the
 * newest ready revision gets all of it.
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
