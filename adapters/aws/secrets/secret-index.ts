/**
 * The list of an account's secrets: one object in the state bucket, with the numbers, digests and ARNs of the versions
 * but without values. A version exists if and only if the list contains it. `leftovers` names each secret of Secrets
 * Manager that may exist without a listed version, so no call needs to search for these secrets. Pure.
 */
import { z } from "zod";
import type { SecretVersion, StoredSecret } from "../../../core/domain/secrets/secret.ts";
import type { Timestamp } from "../../../core/domain/wire/instant.ts";
import type { SecretName } from "../../../core/domain/wire/names.ts";
import { parseJson } from "../state/parse-json.ts";

const VERSION = "portside/v1";

const indexSchema = z.object({
  version: z.literal(VERSION),
  names: z.record(
    z.string(),
    z.object({
      /** The next version number. A secret that is deleted and set again continues the numbers. */
      next: z.int().min(1),
      versions: z.array(
        z.object({
          version: z.int().min(1),
          digest: z.string(),
          createdAt: z.string(),
          /** The name in Secrets Manager. */
          id: z.string(),
          arn: z.string(),
        }),
      ),
    }),
  ),
  leftovers: z.array(
    z.object({
      /** The name in Secrets Manager. */
      id: z.string(),
      name: z.string(),
      number: z.int().min(1),
      /** Milliseconds since the epoch. From this time on, the secret may be deleted. */
      due: z.number(),
      /** The id of the call that deletes the secret. From then on, the secret cannot become a version. */
      claim: z.string().optional(),
    }),
  ),
});

export type SecretIndex = Omit<z.output<typeof indexSchema>, "version">;
/** A listed version, with its secret in Secrets Manager. */
export type IndexedVersion = SecretIndex["names"][string]["versions"][number];
export type Leftover = SecretIndex["leftovers"][number];

export const emptyIndex: SecretIndex = { names: {}, leftovers: [] };

/** Returns undefined if the text is damaged. An empty list would restart the version numbers. */
export const parseIndex = (text: string): SecretIndex | undefined => {
  const parsed = indexSchema.safeParse(parseJson(text));
  if (!parsed.success) return undefined;
  const { names, leftovers } = parsed.data;
  return { names, leftovers };
};

export const renderIndex = (index: SecretIndex): string => JSON.stringify({ version: VERSION, ...index });

/** How long a `set` may take to list its version, in milliseconds. After that, another call may delete its secret. */
export const ABANDONED_MS = 10 * 60_000;

/** Whether the account has ever had a secret with this name. Ignores inherited properties such as `constructor`. */
export const knowsName = ({ names }: SecretIndex, name: SecretName): boolean => Object.hasOwn(names, name);

const entryOf = (index: SecretIndex, name: SecretName): SecretIndex["names"][string] =>
  (knowsName(index, name) ? index.names[name] : undefined) ?? { next: 1, versions: [] };

/** The versions of a secret, newest first. */
export const versionsOf = (index: SecretIndex, name: SecretName): readonly IndexedVersion[] =>
  entryOf(index, name).versions.toSorted((a, b) => b.version - a.version);

/** The number that the next version of a name gets. */
export const nextNumber = (index: SecretIndex, name: SecretName): number => entryOf(index, name).next;

/** Reserves the next number of a name. */
export const reserved = (index: SecretIndex, name: SecretName, id: string, nowMillis: number): SecretIndex => {
  const { next, versions } = entryOf(index, name);
  return {
    names: { ...index.names, [name]: { next: next + 1, versions } },
    leftovers: [...index.leftovers, { id, name, number: next, due: nowMillis + ABANDONED_MS }],
  };
};

/**
 * Lists a version whose number was reserved. If another call has claimed or deleted the secret, returns the secret as a
 * leftover instead.
 */
export const committed = (
  index: SecretIndex,
  name: SecretName,
  version: IndexedVersion,
  nowMillis: number,
): SecretIndex => {
  const { next, versions } = entryOf(index, name);
  const { id, version: number } = version;
  // An earlier attempt of the same write succeeded, but its response was lost.
  if (versions.some((one) => one.id === id)) return index;
  const reservation = index.leftovers.find((one) => one.id === id);
  const others = index.leftovers.filter((one) => one.id !== id);
  if (reservation === undefined || reservation.claim !== undefined)
    return { ...index, leftovers: [...others, { id, name, number, due: nowMillis }] };
  return { names: { ...index.names, [name]: { next, versions: [...versions, version] } }, leftovers: others };
};

const isDue = ({ due }: Leftover, nowMillis: number): boolean => due <= nowMillis;

/**
 * Claims the leftovers that may be deleted now. Replaces earlier claims, because the calls that made them may have
 * failed. The caller then deletes the secrets that it has claimed.
 */
export const claimed = (index: SecretIndex, claim: string, nowMillis: number): SecretIndex =>
  index.leftovers.some((one) => isDue(one, nowMillis))
    ? { ...index, leftovers: index.leftovers.map((one) => (isDue(one, nowMillis) ? { ...one, claim } : one)) }
    : index;

/** Returns the ids of the secrets that a call has claimed. */
export const claimedIds = ({ leftovers }: SecretIndex, claim: string): readonly string[] =>
  leftovers.filter((one) => one.claim === claim).map(({ id }) => id);

/**
 * Removes one version from the list, or all versions of the name. Returns undefined if no such version is in the list
 * or among the leftovers that may be deleted now.
 */
export const removed = (
  index: SecretIndex,
  name: SecretName,
  version: number | undefined,
  nowMillis: number,
): SecretIndex | undefined => {
  const { next, versions } = entryOf(index, name);
  const isMeant = (number: number) => version === undefined || number === version;
  const gone = versions.filter((one) => isMeant(one.version));
  const left = index.leftovers.some((one) => isDue(one, nowMillis) && one.name === name && isMeant(one.number));
  if (gone.length === 0) return left ? index : undefined;
  const leftovers = gone.map(({ id, version: number }) => ({ id, name, number, due: nowMillis }));
  return {
    names: { ...index.names, [name]: { next, versions: versions.filter((one) => !isMeant(one.version)) } },
    leftovers: [...index.leftovers, ...leftovers],
  };
};

/** Forgets the leftovers that a call has claimed and deleted. */
export const without = (index: SecretIndex, claim: string): SecretIndex => ({
  ...index,
  leftovers: index.leftovers.filter((one) => one.claim !== claim),
});

/** Returns the version as the port describes it. */
export const publicVersion = ({ version, digest, createdAt }: IndexedVersion): SecretVersion => ({
  version,
  digest,
  createdAt: createdAt as Timestamp,
});

/** Returns the secrets that have versions, by name. */
export const storedSecrets = (index: SecretIndex): readonly StoredSecret[] =>
  (Object.keys(index.names) as SecretName[])
    .map((name) => ({
      name,
      versions: versionsOf(index, name).map(publicVersion),
    }))
    .filter(({ versions }) => versions.length > 0)
    .sort((a, b) => (a.name < b.name ? -1 : 1));
