/**
 * Data that Portside stores on a Cloud Run service in addition to Cloud Run's own fields: the owner, every declaration
 * that may have traffic, the rollout's progress, the list of releases, and the last deploy's status. Portside stores
 * the data in annotations, because Cloud Run preserves them (run/v2/service.proto). The annotations stay far below
 * Kubernetes' limit of 256 KiB: they rarely contain more than two declarations, each with up to 32 KiB of environment
 * variables.
 */
import { z } from "zod";
import { releaseLimits } from "../../../core/domain/accounts/limits.ts";
import type { Revision, ServiceTemplate } from "../../../core/domain/deploy/service-template.ts";
import { type DeployNote, noteSchema } from "../../cloud/deploy/deploy-note.ts";
import { OWNER_LABEL, SERVICE_LABEL } from "../../cloud/deploy/labels.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import { parseService, renderService } from "../../shared/deploy/service-document.ts";
import { addRelease, noReleases, RELEASES, type ReleaseIndex, releaseIndexSchema } from "./releases/release-record.ts";

export const annotationNames = {
  state: "portside/state",
  attempted: "portside/attempted",
  former: "portside/former",
  lastDeploy: "portside/last-deploy",
} as const;

const stateSchema = z.object({
  /** Id of the write that set this state. A conditional write must name the id that it has read. */
  write: z.string(),
  /** Time of that write, RFC 3339. */
  at: z.string(),
  /** The revision of the latest rollout, whose template is `attempted`. */
  revision: z.string(),
  /** `rolling`: traffic has not moved yet. `moved`: the revision has all traffic. `ended`: the rollout failed. */
  step: z.enum(["rolling", "moved", "ended"]),
  /** Time after which an unfinished rollout counts as failed, because its process must have died, RFC 3339. */
  until: z.string(),
  /** The service's URL, once it is known. Cloud Run may not report the URL while it reconciles. */
  url: z.string().optional(),
});

export type RolloutState = z.output<typeof stateSchema>;

const formerSchema = z.array(z.object({ id: z.string(), document: z.unknown() }));

export interface ServiceRecord {
  readonly state: RolloutState;
  readonly attempted: ServiceTemplate;
  /** Revisions before the attempted one that may still have traffic, newest first. */
  readonly former: readonly Revision[];
  /** The revisions that received traffic. */
  readonly releases: ReleaseIndex;
  readonly lastDeploy: DeployNote | null;
}

type TextMap = Readonly<Record<string, string>>;

/** Labels that identify the service, and the logs and costs of its revisions. */
export const labelsOf = ({ owner, name }: Pick<ServiceTemplate, "owner" | "name">): TextMap => ({
  [OWNER_LABEL]: accountDigest(owner),
  [SERVICE_LABEL]: name,
});

export const renderNote = (note: DeployNote): TextMap => ({ [annotationNames.lastDeploy]: JSON.stringify(note) });

/** Renders a record's annotations, except the last deploy's status. */
export const renderRecord = ({ state, attempted, former, releases }: Omit<ServiceRecord, "lastDeploy">): TextMap => ({
  [annotationNames.state]: JSON.stringify(state),
  [annotationNames.attempted]: JSON.stringify(renderService(attempted)),
  [annotationNames.former]: JSON.stringify(
    former.map(({ id, template }) => ({ id, document: renderService(template) })),
  ),
  [RELEASES]: JSON.stringify(releases),
});

/** Returns undefined if the annotation is absent, and null if it is not JSON. */
const jsonOf = (text: string | undefined): unknown => {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return null;
  }
};

/** Adds the serving revision if an earlier version of Portside, which recorded no releases, rolled it out. */
const withServing = (index: ReleaseIndex, { state, former }: Pick<ServiceRecord, "state" | "former">): ReleaseIndex => {
  const revision = state.step === "moved" ? state.revision : former[0]?.id;
  return revision === undefined || index.served.some((one) => one.revision === revision)
    ? index
    : addRelease(index, revision, state.at, releaseLimits.kept.max);
};

/**
 * Parses a service's record. Returns undefined if Portside does not own the service, or if a manual edit has broken the
 * record.
 */
export const parseRecord = (name: string, labels: TextMap, annotations: TextMap): ServiceRecord | undefined => {
  const state = stateSchema.safeParse(jsonOf(annotations[annotationNames.state]));
  const attempted = parseService(jsonOf(annotations[annotationNames.attempted]));
  const former = formerSchema.safeParse(jsonOf(annotations[annotationNames.former]));
  const releases = releaseIndexSchema.optional().safeParse(jsonOf(annotations[RELEASES]));
  if (!state.success || attempted === undefined || !former.success || !releases.success) return undefined;
  if (attempted.name !== name || labels[OWNER_LABEL] !== accountDigest(attempted.owner)) return undefined;
  const note = noteSchema.safeParse(jsonOf(annotations[annotationNames.lastDeploy]));
  const revisions = former.data.flatMap(({ id, document }) => {
    const template = parseService(document);
    return template === undefined ? [] : [{ id, template }];
  });
  return {
    state: state.data,
    attempted,
    former: revisions,
    releases: withServing(releases.data ?? noReleases, { state: state.data, former: revisions }),
    lastDeploy: note.success ? note.data : null,
  };
};
