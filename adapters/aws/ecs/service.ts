/** A record as the port's service. Pure. */
import { type Instant, parseInstant, type Timestamp } from "../../../core/domain/instant.ts";
import type { Service } from "../../../core/domain/service-template.ts";
import { outcomeOf } from "../../shared/deploy-note.ts";
import type { AwsConfig } from "../config.ts";
import { urlOf } from "./names.ts";
import { etagOf, type HeldRecord, type RevisionTemplate } from "./record.ts";

export type Place = Pick<AwsConfig, "region" | "shared">;

const isOver = (until: string, now: Instant): boolean => {
  const end = parseInstant(until);
  return end === undefined || end <= now;
};

/** Whoever moves traffic is about to write down that it is done. */
export const isMoving = ({ state }: HeldRecord, now: Instant): boolean =>
  state.step === "moving" && !isOver(state.until, now);

/** Whoever removes it is at work. */
export const isRemoved = ({ removing }: HeldRecord, now: Instant): boolean =>
  removing !== null && !isOver(removing, now);

/**
 * True where the record cannot say which revision has traffic: whoever moved it, or removed it, did not come back. The
 * listener's rule says it then.
 */
export const isInDoubt = (record: HeldRecord, now: Instant): boolean =>
  (record.state.step === "moving" && !isMoving(record, now)) || record.removing !== null;

/** All that may serve. */
export const knownOf = ({ state, attempted, former }: HeldRecord): RevisionTemplate[] => [
  { id: state.revision, template: attempted },
  ...former,
];

/** What serves as the record says. */
export const servingOf = (record: HeldRecord): readonly RevisionTemplate[] =>
  record.state.step === "moved" ? [{ id: record.state.revision, template: record.attempted }] : record.former;

const isRolling = ({ state, removing }: HeldRecord, now: Instant): boolean =>
  (state.step === "rolling" || state.step === "moving") && removing === null && !isOver(state.until, now);

/** @param serving what has traffic, by the record or, in doubt, by the rule */
export const serviceOf = (
  record: HeldRecord,
  serving: readonly RevisionTemplate[],
  { region, shared }: Place,
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
