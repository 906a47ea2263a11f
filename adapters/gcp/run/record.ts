/**
 * What Portside writes down on a Run service beside what Run itself needs: whose it is, every declaration that may have
 * traffic, how far a rollout is, how the last deploy stands. Annotations hold it, because Run keeps them as they are
 * (run/v2/service.proto); together they stay far under Kubernetes' 256 KiB: a declaration's environment has at most
 * 32 KiB, and there are two of them at most.
 */
import { z } from "zod";
import type { ServiceTemplate } from "../../../core/domain/service-template.ts";
import { accountDigest } from "../../shared/account-digest.ts";
import { type DeployNote, noteSchema } from "../../shared/deploy-note.ts";
import { OWNER_LABEL, SERVICE_LABEL } from "../../shared/labels.ts";
import { parseService, renderService } from "../../shared/service-document.ts";

export const annotations = {
  state: "portside/state",
  attempted: "portside/attempted",
  former: "portside/former",
  lastDeploy: "portside/last-deploy",
} as const;

const stateSchema = z.object({
  /** Names the write that made this state; a conditional write names the one it saw. */
  write: z.string(),
  /** When that write was, RFC 3339. */
  at: z.string(),
  /** The revision of the attempted template. */
  revision: z.string(),
  /** `rolling`: it gets no traffic yet. `moved`: it is to have all of it. `ended`: it never had any. */
  step: z.enum(["rolling", "moved", "ended"]),
  /** RFC 3339; past it a rollout that has not ended is over: whoever ran it is gone. */
  until: z.string(),
});

export type RolloutState = z.output<typeof stateSchema>;

const formerSchema = z.array(z.object({ id: z.string(), document: z.unknown() }));

export interface RevisionTemplate {
  readonly id: string;
  readonly template: ServiceTemplate;
}

export interface ServiceRecord {
  readonly state: RolloutState;
  readonly attempted: ServiceTemplate;
  /** Revisions before the attempted one that may have traffic, newest first. */
  readonly former: readonly RevisionTemplate[];
  readonly lastDeploy: DeployNote | null;
}

type Words = Readonly<Record<string, string>>;

/** By these the service, and whatever its revisions log and cost, are found again. */
export const labelsOf = ({ owner, name }: Pick<ServiceTemplate, "owner" | "name">): Words => ({
  [OWNER_LABEL]: accountDigest(owner),
  [SERVICE_LABEL]: name,
});

export const renderNote = (note: DeployNote): Words => ({ [annotations.lastDeploy]: JSON.stringify(note) });

/** Annotations of a record; the note of the last deploy has its own write. */
export const renderRecord = ({ state, attempted, former }: Omit<ServiceRecord, "lastDeploy">): Words => ({
  [annotations.state]: JSON.stringify(state),
  [annotations.attempted]: JSON.stringify(renderService(attempted)),
  [annotations.former]: JSON.stringify(former.map(({ id, template }) => ({ id, document: renderService(template) }))),
});

const jsonOf = (text: string | undefined): unknown => {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** The record of a service; undefined where it is none of ours, or was changed by hand so that it no longer is. */
export const parseRecord = (name: string, labels: Words, noted: Words): ServiceRecord | undefined => {
  const state = stateSchema.safeParse(jsonOf(noted[annotations.state]));
  const attempted = parseService(jsonOf(noted[annotations.attempted]));
  const former = formerSchema.safeParse(jsonOf(noted[annotations.former]));
  if (!state.success || attempted === undefined || !former.success) return undefined;
  if (attempted.name !== name || labels[OWNER_LABEL] !== accountDigest(attempted.owner)) return undefined;
  const note = noteSchema.safeParse(jsonOf(noted[annotations.lastDeploy]));
  return {
    state: state.data,
    attempted,
    former: former.data.flatMap(({ id, document }) => {
      const template = parseService(document);
      return template === undefined ? [] : [{ id, template }];
    }),
    lastDeploy: note.success ? note.data : null,
  };
};
