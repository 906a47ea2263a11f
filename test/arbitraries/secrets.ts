/** Secrets: names, values, stored versions, and references to them. */
import fc from "fast-check";
import type { PinnedSecrets, SecretReferences } from "../../core/domain/secrets/references.ts";
import type { StoredSecret } from "../../core/domain/secrets/secret.ts";
import { timestampOf } from "../../core/domain/wire/instant.ts";
import { SECRET_NAME_MAX, type SecretName } from "../../core/domain/wire/names.ts";
import { character } from "./characters.ts";
import { variableName } from "./environments.ts";
import { instant } from "./instants.ts";

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Any valid name, including the longest and names of object properties. */
export const secretName = (): fc.Arbitrary<SecretName> =>
  fc
    .oneof(
      fc.constantFrom("KEY", "constructor", "toString", "a", "A-", "z_", "X".repeat(SECRET_NAME_MAX)),
      fc
        .tuple(
          fc.constantFrom(...letters),
          fc.string({ unit: fc.constantFrom(...`${letters}0123456789_-`), maxLength: 20 }),
        )
        .map((both) => both.join("")),
    )
    .map((name) => name as SecretName);

/** Any text that a secret may have, including line ends, quotes and characters that URLs escape. */
export const secretValue = (): fc.Arbitrary<string> =>
  fc
    .oneof(
      fc.constantFrom(" ", "a", "sk_live_1/2+3=", "line\nline", "\r\n", '"quoted"\\', "grüß 数据 😀", "{}", "%41"),
      fc.string({ unit: character(), minLength: 1, maxLength: 60 }),
    )
    .map((value) => value.replaceAll("\0", "").toWellFormed())
    .filter((value) => value !== "");

const digest = (): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(..."0123456789abcdef"), minLength: 32, maxLength: 32 }).map((hex) => `hmac:${hex}`);

const number = (): fc.Arbitrary<number> => fc.integer({ min: 1, max: 20 });

/** The secrets of an account, each with one or more versions, and gaps between their numbers. */
export const storedSecrets = (): fc.Arbitrary<readonly StoredSecret[]> =>
  fc.uniqueArray(
    fc.record({
      name: secretName(),
      versions: fc
        .uniqueArray(fc.record({ version: number(), digest: digest(), createdAt: instant().map(timestampOf) }), {
          minLength: 1,
          maxLength: 15,
          selector: ({ version }) => version,
        })
        .map((versions) => versions.toSorted((a, b) => b.version - a.version)),
    }),
    { maxLength: 5, selector: ({ name }) => name },
  );

const byVariable = <T>(one: fc.Arbitrary<T>): fc.Arbitrary<Readonly<Record<string, T>>> =>
  fc
    // Omits `constructor`, because `toStrictEqual` compares this property of two objects by identity.
    .uniqueArray(
      fc.tuple(
        variableName().filter((name) => name !== "constructor"),
        one,
      ),
      { maxLength: 5, selector: ([name]) => name },
    )
    .map((pairs) => Object.fromEntries(pairs));

/** References to any secrets, by variable. */
export const secretReferences = (): fc.Arbitrary<SecretReferences> =>
  byVariable(fc.record({ name: secretName(), version: fc.option(number()) }, { noNullPrototype: true }));

/** Pinned references to any secrets, by variable. */
export const pinnedSecrets = (): fc.Arbitrary<PinnedSecrets> =>
  byVariable(fc.record({ name: secretName(), version: number(), follows: fc.boolean() }, { noNullPrototype: true }));
