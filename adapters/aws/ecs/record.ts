/**
 * What Portside writes down about a deployment: whose it is, every declaration that may have traffic, how far a rollout
 * is, how the last deploy stands. It is one object in the state bucket, because nothing at ECS takes a conditional write;
 * declarations hold the variables of services, so nobody but the platform may read it. Pure.
 */
import { z } from "zod";
import type { AccountId } from "../../../core/domain/account.ts";
import type { ServiceTemplate } from "../../../core/domain/service-template.ts";
import { type DeployNote, noteSchema } from "../../shared/deploy-note.ts";
import { parseService, renderService } from "../../shared/service-document.ts";

const VERSION = "portside/v1";

const stateSchema = z.object({
  /** Names the write that made this state; a conditional write names the one it saw. */
  write: z.string(),
  /** When that write was, RFC 3339. */
  at: z.string(),
  /** The revision of the attempted template. */
  revision: z.string(),
  /**
   * `rolling`: it gets no traffic yet. `moving`: the listener's rule says whether it does. `moved`: it has all of it.
   * `ended`: it never had any.
   */
  step: z.enum(["rolling", "moving", "moved", "ended"]),
  /** RFC 3339; past it whoever wrote this is gone. */
  until: z.string(),
});

export type RolloutState = z.output<typeof stateSchema>;

const heldSchema = z.object({
  version: z.literal(VERSION),
  kind: z.literal("held"),
  uid: z.string(),
  createdAt: z.string(),
  state: stateSchema,
  attempted: z.unknown(),
  former: z.array(z.object({ id: z.string(), document: z.unknown() })),
  retired: z.array(z.string()),
  removing: z.string().nullable(),
  lastDeploy: noteSchema.nullable(),
});

const freedSchema = z.object({
  version: z.literal(VERSION),
  kind: z.literal("freed"),
  name: z.string(),
  owner: z.string(),
  until: z.string(),
});

export interface RevisionTemplate {
  readonly id: string;
  readonly template: ServiceTemplate;
}

export interface HeldRecord {
  readonly kind: "held";
  /** Of this deployment of the name; another one later has another. */
  readonly uid: string;
  readonly createdAt: string;
  readonly state: RolloutState;
  readonly attempted: ServiceTemplate;
  /** Revisions that had traffic when the attempted one began. */
  readonly former: readonly RevisionTemplate[];
  /** Revisions that may have something left at Amazon, and serve no more. */
  readonly retired: readonly string[];
  /** While it is removed: until when, RFC 3339. */
  readonly removing: string | null;
  readonly lastDeploy: DeployNote | null;
}

/** A name that was freed, and is kept for its account until then. */
export interface FreedRecord {
  readonly kind: "freed";
  readonly name: string;
  readonly owner: AccountId;
  readonly until: string;
}

export type NameRecord = HeldRecord | FreedRecord;

export const renderRecord = (record: NameRecord): string => {
  if (record.kind === "freed") return JSON.stringify({ version: VERSION, ...record });
  const { attempted, former, ...rest } = record;
  return JSON.stringify({
    version: VERSION,
    ...rest,
    attempted: renderService(attempted),
    former: former.map(({ id, template }) => ({ id, document: renderService(template) })),
  });
};

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** The record of a name; undefined where it is none of ours, or was changed by hand so that it no longer is. */
export const parseRecord = (name: string, text: string): NameRecord | undefined => {
  const raw = jsonOf(text);
  const freed = freedSchema.safeParse(raw);
  if (freed.success && freed.data.name === name) {
    const { owner, until } = freed.data;
    return { kind: "freed", name, owner: owner as AccountId, until };
  }
  const held = heldSchema.safeParse(raw);
  if (!held.success) return undefined;
  const { version: _, ...data } = held.data;
  const attempted = parseService(data.attempted);
  if (attempted?.name !== name) return undefined;
  const former = data.former.flatMap(({ id, document }) => {
    const template = parseService(document);
    return template === undefined ? [] : [{ id, template }];
  });
  return { ...data, attempted, former };
};

/** What the conditional writes of the port name: changes with every rollout's write and with no note. */
export const etagOf = ({ uid, state }: HeldRecord): string => `${uid}/${state.write}`;
