/**
 * The record of a deployment: its owner, the template of every revision that may have traffic, the rollout's step, the
 * list of its releases, and the last deploy's status. Portside stores the record as one object in the state bucket,
 * because ECS has no conditional writes. A template contains environment variables, so only the platform may read the
 * object. Pure.
 */
import { z } from "zod";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { ServiceTemplate } from "../../../../core/domain/deploy/service-template.ts";
import { type DeployNote, noteSchema } from "../../../cloud/deploy/deploy-note.ts";
import { parseService, renderService } from "../../../shared/deploy/service-document.ts";
import { parseJson } from "../../state/parse-json.ts";

const VERSION = "portside/v1";

const stateSchema = z.object({
  /** Id of the write that set this state. A conditional write must name the id that it read. */
  write: z.string(),
  /** Time of that write, RFC 3339. */
  at: z.string(),
  /** The revision of the latest rollout, whose template is `attempted`. */
  revision: z.string(),
  /**
   * `rolling`: the revision has no traffic yet. `moving`: only the listener's rule shows whether it has traffic.
   * `moved`: it has all traffic. `ended`: it never had traffic.
   */
  step: z.enum(["rolling", "moving", "moved", "ended"]),
  /** RFC 3339. The writer counts as dead after this time. */
  until: z.string(),
});

export type RolloutState = z.output<typeof stateSchema>;

const heldSchema = z.object({
  version: z.literal(VERSION),
  kind: z.literal("held"),
  uid: z.string(),
  createdAt: z.string(),
  // Earlier versions supported only one load balancer and did not store its index.
  balancer: z.int().min(0).default(0),
  state: stateSchema,
  attempted: z.unknown(),
  former: z.array(z.object({ id: z.string(), document: z.unknown() })),
  retired: z.array(z.string()),
  // Earlier versions stored no releases.
  released: z.int().min(0).default(0),
  releases: z
    .array(
      z.object({
        release: z.int(),
        revision: z.string(),
        image: z.string().nullable(),
        // Earlier versions stored no time.
        at: z.string().nullable().default(null),
      }),
    )
    .default([]),
  removing: z.string().nullable(),
  lastDeploy: noteSchema.nullable(),
});

const freedSchema = z.object({
  version: z.literal(VERSION),
  kind: z.literal("freed"),
  name: z.string(),
  owner: z.string(),
  until: z.string(),
  // Earlier versions stored no releases.
  uid: z.string().nullable().default(null),
  released: z.int().min(0).default(0),
});

/** A release in the list of a deployment's record. `releases.ts` stores the release itself. */
export interface ReleaseEntry {
  readonly release: number;
  readonly revision: string;
  /** Null if clean-ups no longer keep the image for this release. */
  readonly image: string | null;
  /**
   * When the rollout began to move the traffic to this release, RFC 3339. Null if an earlier version stored the entry.
   */
  readonly at: string | null;
}

export interface RevisionTemplate {
  readonly id: string;
  readonly template: ServiceTemplate;
}

export interface HeldRecord {
  readonly kind: "held";
  /**
   * Identifies the deployment and the sequence of its releases. A later deployment of the same name gets a different
   * uid, unless the name was still reserved.
   */
  readonly uid: string;
  readonly createdAt: string;
  /** The index of the deployment's load balancer. */
  readonly balancer: number;
  readonly state: RolloutState;
  readonly attempted: ServiceTemplate;
  /** Revisions that had traffic when the latest rollout began. */
  readonly former: readonly RevisionTemplate[];
  /** Revisions that no longer serve but may still have AWS resources. */
  readonly retired: readonly string[];
  /** The highest release number in use. It may belong to a failed rollout. */
  readonly released: number;
  /** Oldest first. The release of the attempted revision counts only if the revision serves (`releasedIn`). */
  readonly releases: readonly ReleaseEntry[];
  /** RFC 3339. The deadline of a removal that has begun. */
  readonly removing: string | null;
  readonly lastDeploy: DeployNote | null;
}

/** A freed name, reserved for its account until `until`. */
export interface FreedRecord {
  readonly kind: "freed";
  readonly name: string;
  readonly owner: AccountId;
  readonly until: string;
  /**
   * The `uid` and `released` of the deleted deployment. The uid is null if an earlier version of Portside deleted it.
   */
  readonly uid: string | null;
  readonly released: number;
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

/** Parses a name's record. Returns undefined if Portside did not write the text, or a manual edit has broken it. */
export const parseRecord = (name: string, text: string): NameRecord | undefined => {
  const raw = parseJson(text);
  const freed = freedSchema.safeParse(raw);
  if (freed.success && freed.data.name === name) {
    const { version: _, ...data } = freed.data;
    return { ...data, owner: data.owner as AccountId };
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

/** The etag for the port's conditional writes. Each step of a rollout changes the etag; a deploy's note does not. */
export const etagOf = ({ uid, state }: HeldRecord): string => `${uid}/${state.write}`;
