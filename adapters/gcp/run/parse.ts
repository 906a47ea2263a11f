/** A Run service as Portside knows it, or the word that it is none of Portside's. Pure. */
import { type Instant, instantOfSeconds, parseInstant, timestampOf } from "../../../core/domain/instant.ts";
import type { Revision, Service } from "../../../core/domain/service-template.ts";
import { outcomeOf } from "../../shared/deploy-note.ts";
import { parseRecord, type ServiceRecord } from "./record.ts";
import type { RunService } from "./render.ts";
import { idOf } from "./resource-names.ts";

export interface OwnService {
  readonly record: ServiceRecord;
  readonly service: Service;
  /** What Run's own conditional writes name. */
  readonly runEtag: string;
  /** Revisions with traffic, as Run reports it: 0 < percent ≤ 100. */
  readonly traffic: readonly { readonly id: string; readonly percent: number }[];
}

interface Seen {
  readonly region: string;
  readonly now: Instant;
}

/** What the conditional writes of the port name: changes with every rollout's write and with no note. */
export const etagOf = (uid: string, { state }: ServiceRecord): string => `${uid}/${state.write}`;

export const trafficOf = ({ trafficStatuses, latestReadyRevision }: RunService): OwnService["traffic"] =>
  (trafficStatuses ?? []).flatMap(({ type, revision, percent }) => {
    const latest = type === "TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST" || type === 1;
    const id = idOf(revision) || (latest ? idOf(latestReadyRevision) : "");
    return id === "" || !percent ? [] : [{ id, percent }];
  });

/**
 * The attempted revision serves once traffic was moved to it by us: a first one is ready, and Run's only choice, before
 * it may serve; nobody but the platform may call it then.
 */
const servingOf = ({ state, attempted, former }: ServiceRecord, traffic: OwnService["traffic"]): Revision[] => {
  const known = [...(state.step === "moved" ? [{ id: state.revision, template: attempted }] : []), ...former];
  return known.filter(({ id }) => traffic.some((one) => one.id === id));
};

const isRolling = ({ state }: ServiceRecord, traffic: OwnService["traffic"], now: Instant): boolean => {
  const until = parseInstant(state.until);
  if (until === undefined || until <= now || state.step === "ended") return false;
  return state.step === "rolling" || !hasAllTraffic(state.revision, traffic);
};

export const hasAllTraffic = (revision: string, traffic: OwnService["traffic"]): boolean =>
  traffic.some(({ id, percent }) => id === revision && percent === 100);

const momentOf = (time: RunService["createTime"]) => {
  const whole = instantOfSeconds(Number(time?.seconds ?? 0));
  return timestampOf((whole + BigInt(time?.nanos ?? 0)) as Instant);
};

/** Undefined: not one of ours. */
export const parseOwn = (run: RunService, { region, now }: Seen): OwnService | undefined => {
  const name = idOf(run.name);
  const record = parseRecord(name, run.labels ?? {}, run.annotations ?? {});
  if (record === undefined) return undefined;
  const { attempted, state, lastDeploy } = record;
  const traffic = trafficOf(run);
  const serving = servingOf(record, traffic);
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
      rollingOut: isRolling(record, traffic, now) ? attempted : null,
      attempted,
      url: run.uri ?? "",
      region,
      createdAt: momentOf(run.createTime),
      updatedAt: at === undefined ? momentOf(run.updateTime) : timestampOf(at),
      lastDeploy: lastDeploy === null ? null : outcomeOf(lastDeploy, { serving, until: state.until }, now),
    },
  };
};
