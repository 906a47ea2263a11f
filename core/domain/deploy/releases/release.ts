/** A release: the immutable record of a rollout that received traffic. */
import { z } from "zod";
import type { AccountId, Principal } from "../../accounts/account.ts";
import { formatPin, pinnedVersions } from "../../secrets/references.ts";
import type { Timestamp } from "../../wire/instant.ts";
import { healthCheckSchema } from "../health.ts";
import { idleModes } from "../idle.ts";
import { type ServiceTemplate, writtenFields } from "../service-template.ts";

/** The kinds of callers that create releases. */
export const authorKinds = ["key", "token", "console", "embedder", "platform"] as const;

/** The caller that created a release. */
export interface ReleaseAuthor {
  readonly kind: (typeof authorKinds)[number];
  /** The id of the key, token or user. Never the secret. */
  readonly id: string;
  /** The label of the key; empty for other callers. */
  readonly label: string;
}

/** The fields of a release that come from the rollout request, except the template. */
export interface ReleaseOrigin {
  readonly createdBy: ReleaseAuthor;
  /** The client's message about the change. */
  readonly message: string | null;
  /** The digest of the source archive; null if it is unknown. */
  readonly sourceDigest: string | null;
  /** The release that a rollback restored; null for other releases. */
  readonly rolledBackTo: number | null;
}

/** The immutable record of a rollout that received traffic. */
export interface Release extends ReleaseOrigin {
  /** Rises with each release of the deployment. */
  readonly release: number;
  /** Identifies the sequence of releases. A deployment that starts again at release 1 has a different uid. */
  readonly uid: string;
  readonly revision: string;
  readonly createdAt: Timestamp;
  readonly template: ServiceTemplate;
}

/** The author of a release that the platform created, for example after a restart of the server. */
export const platformAuthor: ReleaseAuthor = { kind: "platform", id: "", label: "" };

/** The origin of a release from before Portside stored releases. */
export const unknownOrigin: ReleaseOrigin = {
  createdBy: platformAuthor,
  message: null,
  sourceDigest: null,
  rolledBackTo: null,
};

/** A release as its platform returns it. */
export interface StoredRelease extends Release {
  /** False if the image was removed. No rollback can then restore the release. */
  readonly hasImage: boolean;
  /** A digest of each variable of the environment. A client cannot guess a value from its digest. */
  readonly envDigests: Readonly<Record<string, string>>;
}

/**
 * `serving`: the release receives all traffic. `replaced`: a rollback can restore it. `pruned`: its image was removed.
 */
export type ReleaseStatus = "serving" | "replaced" | "pruned";

const kindOf = ({ credentialKind, sessionId }: Principal): ReleaseAuthor["kind"] => {
  if (sessionId !== undefined) return "console";
  if (credentialKind === undefined) return "embedder";
  return credentialKind === "key" ? "key" : "token";
};

/**
 * Returns the author of a release that the caller creates.
 * @param keys the keys of the account
 */
export const authorOf = (
  principal: Principal,
  keys: readonly { readonly id: string; readonly label: string }[],
): ReleaseAuthor => {
  const kind = kindOf(principal);
  const isKey = principal.credentialKind === "key";
  const key = isKey ? keys.find(({ id }) => id === principal.credentialId) : undefined;
  return { kind, id: principal.credentialId, label: key?.label ?? "" };
};

/** Returns the part of an image reference that identifies the content: `sha256:…` of `REGISTRY/NAME@sha256:…`. */
export const imageDigestOf = (image: string): string =>
  image.slice(Math.max(image.lastIndexOf("/"), image.lastIndexOf("@")) + 1);

/** Returns the status of a release. */
export const statusOfRelease = (
  { revision, hasImage }: Pick<StoredRelease, "revision" | "hasImage">,
  servingRevision: string | null,
): ReleaseStatus => {
  if (revision === servingRevision) return "serving";
  return hasImage ? "replaced" : "pruned";
};

/** Returns each variable of a release with a digest of its value, or with its reference to a secret, sorted by name. */
export const shownVariables = ({
  envDigests,
  template: { secrets = {} },
}: Pick<StoredRelease, "envDigests" | "template">): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [
      ...Object.entries(envDigests),
      ...Object.entries(secrets).map(([name, pinned]) => [name, formatPin(pinned)] as const),
    ].sort(([a], [b]) => (a < b ? -1 : 1)),
  );

const time = z.string().meta({ format: "date-time" });

/** The schema of a release in `GET /v1/deployment/releases`. */
export const releaseSchema = z
  .object({
    release: z.int().meta({ description: "The number of the release. It rises with each release of the deployment." }),
    uid: z.string().meta({
      description: "Identifies the sequence of release numbers. It changes if the numbers start again at 1.",
    }),
    revision: z.string().meta({ description: "The revision that the release created." }),
    status: z.enum(["serving", "replaced", "pruned"]).meta({
      description:
        "serving: the release receives all traffic. replaced: a rollback can restore it. pruned: its image was removed.",
    }),
    created_at: time.meta({ description: "When the release received traffic." }),
    created_by: z.object({
      kind: z.enum(authorKinds),
      id: z.string().meta({ description: "The id of the key, token or user." }),
      label: z.string().meta({
        description: "The label of the key, or of the key that started the console session; empty for other callers.",
      }),
    }),
    message: z.string().nullable().meta({ description: "The client's message about the change." }),
    source_digest: z.string().nullable().meta({ description: "The digest of the source; null if it is unknown." }),
    image_digest: z.string().meta({ description: "The digest of the image." }),
    declaration: z
      .object({
        function_name: z.string(),
        port: z.int(),
        memory: z.string(),
        cpu: z.number(),
        timeout: z.int(),
        concurrency: z.int(),
        max_instances: z.int(),
        min_instances: z.int(),
        session_affinity: z.boolean(),
        use_http2: z.boolean(),
        volumes: z.record(
          z.string(),
          z.object({ name: z.string(), read_only: z.boolean(), sub_path: z.string().optional() }),
        ),
        schedule: z.object({ cron: z.string(), timezone: z.string() }).nullable(),
        health: healthCheckSchema.nullable(),
        idle: z.enum(idleModes).nullable(),
        env: z.record(z.string(), z.string()).meta({
          description:
            "The names of the variables, each with a digest of its value, or with `secret:NAME:VERSION` for a secret. " +
            "The API never returns values.",
        }),
      })
      .meta({ description: "The fields of the deploy, after adjustments." }),
    secrets: z.record(z.string(), z.int()).meta({ description: "The versions of the secrets that the release uses." }),
    rolled_back_to: z
      .int()
      .nullable()
      .meta({ description: "The release that this rollback restored; null for other releases." }),
  })
  .readonly();

/** The schema of the response of `GET /v1/deployment/releases`. */
export const releasePageSchema = z
  .object({
    releases: z.array(releaseSchema),
    next_page_token: z.string().nullable().meta({ description: "Null at the end of the list." }),
  })
  .readonly();

/** A release as clients see it. */
export type ReleaseRow = z.output<typeof releaseSchema>;

/** Converts a release to its client view. */
export const releaseRowOf = (stored: StoredRelease, servingRevision: string | null): ReleaseRow => ({
  release: stored.release,
  uid: stored.uid,
  revision: stored.revision,
  status: statusOfRelease(stored, servingRevision),
  created_at: stored.createdAt,
  created_by: { ...stored.createdBy },
  message: stored.message,
  source_digest: stored.sourceDigest,
  image_digest: imageDigestOf(stored.template.image),
  declaration: {
    function_name: stored.template.name,
    ...writtenFields(stored.template),
    env: shownVariables(stored),
  },
  secrets: pinnedVersions(stored.template.secrets),
  rolled_back_to: stored.rolledBackTo,
});

/** Identifies the deployment whose releases or instances a platform returns. */
export interface ReleasedService {
  readonly name: ServiceTemplate["name"];
  readonly owner: AccountId;
}
