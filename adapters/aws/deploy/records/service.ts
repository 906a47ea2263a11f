/** Converts a deployment's record to the port's `Service`. Pure. */

import type { Service } from "../../../../core/domain/deploy/service-template.ts";
import { type Instant, parseInstant, type Timestamp } from "../../../../core/domain/wire/instant.ts";
import { outcomeOf } from "../../../cloud/deploy/deploy-note.ts";
import type { AwsConfig } from "../../config.ts";
import { urlOf } from "./names.ts";
import { etagOf, type HeldRecord, type RevisionTemplate } from "./record.ts";

export type EcsLocation = Pick<AwsConfig, "region" | "shared">;

const hasExpired = (until: string, now: Instant): boolean => {
  const end = parseInstant(until);
  return end === undefined || end <= now;
};

/** True while a writer moves traffic and can still record the result. */
export const isMoving = ({ state }: HeldRecord, now: Instant): boolean =>
  state.step === "moving" && !hasExpired(state.until, now);

/** True if a removal has begun and its deadline has not passed. */
export const isRemoved = ({ removing }: HeldRecord, now: Instant): boolean =>
  removing !== null && !hasExpired(removing, now);

/**
 * True if the record does not show which revision has traffic: the writer that moved traffic counts as dead, or a
 * removal has begun. The listener's rule then decides.
 */
export const isInDoubt = (record: HeldRecord, now: Instant): boolean =>
  (record.state.step === "moving" && !isMoving(record, now)) || record.removing !== null;

/** Returns the attempted and the former revisions. Only these may serve. */
export const knownOf = ({ state, attempted, former }: HeldRecord): RevisionTemplate[] => [
  { id: state.revision, template: attempted },
  ...former,
];

/** Returns the revisions that serve according to the record. */
export const servingOf = (record: HeldRecord): readonly RevisionTemplate[] =>
  record.state.step === "moved" ? [{ id: record.state.revision, template: record.attempted }] : record.former;

const isRolling = ({ state, removing }: HeldRecord, now: Instant): boolean =>
  (state.step === "rolling" || state.step === "moving") && removing === null && !hasExpired(state.until, now);

/** @param serving the revisions with traffic: from the record or, if the record is in doubt, from the rule */
export const serviceOf = (
  record: HeldRecord,
  serving: readonly RevisionTemplate[],
  { region, shared }: EcsLocation,
  now: Instant,
): Service => {
  const { attempted, createdAt, state, lastDeploy } = record;
  return {
    name: attempted.name,
    owner: attempted.owner,
    etag: etagOf(record),
    serving: serving.map((one) => ({ ...one })),
    rollingOut: isRolling(record, now) ? attempted : null,
    attempted,
    url: urlOf(shared, attempted.name),
    region,
    createdAt: createdAt as Timestamp,
    updatedAt: state.at as Timestamp,
    lastDeploy: lastDeploy === null ? null : outcomeOf(lastDeploy, { serving, until: state.until }, now),
  };
};
