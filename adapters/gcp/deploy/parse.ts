/** Converts a Cloud Run service to Portside's form. Pure functions. */

import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { Revision, Service } from "../../../core/domain/deploy/service-template.ts";
import { type Instant, instantOfSeconds, parseInstant, timestampOf } from "../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import { type DeployNote, outcomeOf } from "../../cloud/deploy/deploy-note.ts";
import { parseRecord, type ServiceRecord } from "./record.ts";
import type { RunService } from "./render.ts";
import { idOf } from "./resource-names.ts";

export interface OwnService {
  readonly record: ServiceRecord;
  readonly service: Service;
  /** The etag for Cloud Run's own conditional writes. */
  readonly runEtag: string;
  /** Revisions with traffic, as Cloud Run reports them: 0 < percent ≤ 100. May be empty while it reconciles. */
  readonly traffic: readonly { readonly id: string; readonly percent: number }[];
}

/** The status of a running deploy. */
export interface RunningNote {
  readonly owner: AccountId;
  readonly note: DeployNote;
}

interface ParseContext {
  readonly region: string;
  readonly now: Instant;
  /** Replaces the stored status of a service with the same name and owner. */
  readonly running?: ReadonlyMap<DeploymentName, RunningNote>;
}

/**
 * The etag for the port's conditional writes. Every write of a rollout changes it; a write that stores only a deploy's
 * status does not.
 */
export const etagOf = (uid: string, { state }: ServiceRecord): string => `${uid}/${state.write}`;

export const trafficOf = ({ trafficStatuses, latestReadyRevision }: RunService): OwnService["traffic"] =>
  (trafficStatuses ?? []).flatMap(({ type, revision, percent }) => {
    const latest = type === "TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST" || type === 1;
    const id = idOf(revision) || (latest ? idOf(latestReadyRevision) : "");
    return id === "" || !percent ? [] : [{ id, percent }];
  });

/**
 * Ids of the revisions that have traffic or will have it. While Cloud Run reconciles, the actual traffic may be empty.
 */
const revisionsInUse = ({ traffic }: RunService, actual: OwnService["traffic"]): ReadonlySet<string> => {
  const requested = (traffic ?? []).flatMap(({ revision, percent }) => (percent && revision ? [idOf(revision)] : []));
  return new Set([...requested, ...actual.map(({ id }) => id)]);
};

/**
 * The attempted revision serves once the platform has moved traffic to it. Cloud Run sends traffic to a service's
 * first revision earlier, but the service stays private until the move.
 */
const servingOf = ({ state, attempted, former }: ServiceRecord, inUse: ReadonlySet<string>): Revision[] => {
  const known = [...(state.step === "moved" ? [{ id: state.revision, template: attempted }] : []), ...former];
  return known.filter(({ id }) => inUse.has(id));
};

const isRolling = ({ state }: ServiceRecord, traffic: OwnService["traffic"], now: Instant): boolean => {
  const until = parseInstant(state.until);
  if (until === undefined || until <= now || state.step === "ended") return false;
  return state.step === "rolling" || !hasAllTraffic(state.revision, traffic);
};

export const hasAllTraffic = (revision: string, traffic: OwnService["traffic"]): boolean =>
  traffic.some(({ id, percent }) => id === revision && percent === 100);

/**
 * The write that moves traffic already stores DONE. Until the traffic has moved, this function returns DEPLOYING
 * instead.
 */
const notedOf = ({ lastDeploy: note, attempted }: ServiceRecord, rolling: boolean): DeployNote | null =>
  rolling && note?.status === "DONE" && note.deployId === attempted.deployId
    ? { ...note, status: "DEPLOYING", finishedAt: null }
    : note;

const timestampOfProto = (time: RunService["createTime"]) => {
  const whole = instantOfSeconds(Number(time?.seconds ?? 0));
  return timestampOf((whole + BigInt(time?.nanos ?? 0)) as Instant);
};

/** Returns undefined if Portside does not own the service. */
export const parseOwn = (run: RunService, { region, now, running }: ParseContext): OwnService | undefined => {
  const name = idOf(run.name);
  const record = parseRecord(name, run.labels ?? {}, run.annotations ?? {});
  if (record === undefined) return undefined;
  const { attempted, state } = record;
  const traffic = trafficOf(run);
  const serving = servingOf(record, revisionsInUse(run, traffic));
  const rolling = isRolling(record, traffic, now);
  const own = running?.get(attempted.name);
  const lastDeploy = own?.owner === attempted.owner ? own.note : notedOf(record, rolling);
  const at = parseInstant(state.at);
  return {
    record,
    runEtag: run.etag ?? "",
    traffic,
    service: {
      name: attempted.name,
      owner: attempted.owner,
      etag: etagOf(run.uid ?? "", record),
      serving,
      rollingOut: rolling ? attempted : null,
      attempted,
      url: run.uri || (state.url ?? ""),
      region,
      createdAt: timestampOfProto(run.createTime),
      updatedAt: at === undefined ? timestampOfProto(run.updateTime) : timestampOf(at),
      lastDeploy: lastDeploy === null ? null : outcomeOf(lastDeploy, { serving, until: state.until }, now),
    },
  };
};
