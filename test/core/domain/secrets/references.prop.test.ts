/** References to secrets: what a deploy pins, what a rollback restores, and how both are written. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readEnvironment } from "../../../../core/domain/deploy/environment.ts";
import {
  formatPin,
  missingPin,
  type PinnedSecrets,
  pinnedVersions,
  pinReferences,
  referencesOf,
  restorePins,
  writeReferences,
} from "../../../../core/domain/secrets/references.ts";
import { newestVersion, type StoredSecret } from "../../../../core/domain/secrets/secret.ts";
import type { Timestamp } from "../../../../core/domain/wire/instant.ts";
import type { SecretName } from "../../../../core/domain/wire/names.ts";
import { pinnedSecrets, secretReferences, storedSecrets } from "../../../arbitraries/index.ts";
import { runs } from "../../../support/vitest/runs.ts";

const KEY = "KEY" as SecretName;

const secret = (name: SecretName, ...numbers: number[]): StoredSecret => ({
  name,
  versions: numbers.map((version) => ({ version, digest: "", createdAt: "" as Timestamp })),
});

const exists = (stored: readonly StoredSecret[], name: SecretName, version: number) =>
  stored.some((one) => one.name === name && one.versions.some((it) => it.version === version));

/** Stored secrets, and references that often refer to them. */
const situation = <T extends { readonly name: SecretName }>(references: fc.Arbitrary<Readonly<Record<string, T>>>) =>
  fc
    .tuple(storedSecrets(), references, fc.array(fc.nat(), { minLength: 5, maxLength: 5 }))
    .map(([stored, all, picks]) => {
      const aimed = Object.entries(all).map(([variable, one], index) => {
        const found = stored[(picks[index] ?? 0) % (stored.length + 1)];
        return [variable, found === undefined ? one : { ...one, name: found.name }] as const;
      });
      return { stored, references: Object.fromEntries(aimed) as Readonly<Record<string, T>> };
    });

describe("a deploy", () => {
  test("pins the newest version, or the named one, and fails for exactly the variables without one", () => {
    fc.assert(
      fc.property(situation(secretReferences()), ({ stored, references }) => {
        const broken = Object.entries(references).filter(([, { name, version }]) => {
          const found = stored.find((one) => one.name === name);
          return found === undefined || (version !== null && !exists(stored, name, version));
        });
        const pinned = pinReferences(references, stored);
        if (broken.length > 0) {
          const paths = pinned._unsafeUnwrapErr().map(({ path }) => path);
          expect(paths).toEqual(broken.map(([variable]) => ["env", variable]));
          return;
        }
        const pins = pinned._unsafeUnwrap();
        expect(Object.keys(pins)).toEqual(Object.keys(references));
        for (const [variable, { name, version }] of Object.entries(references)) {
          const newest = newestVersion(stored.find((one) => one.name === name) as StoredSecret);
          expect(pins[variable]).toEqual({ name, version: version ?? newest, follows: version === null });
        }
        expect(missingPin(pins, stored)).toBeUndefined();
      }),
      runs(500),
    );
  });

  test("that keeps the environment keeps fixed versions, and pins the newest of the others", () => {
    const pins = { A: { name: KEY, version: 1, follows: true }, B: { name: KEY, version: 1, follows: false } };
    expect(pinReferences(referencesOf(pins), [secret(KEY, 3, 1)])._unsafeUnwrap()).toEqual({
      A: { name: KEY, version: 3, follows: true },
      B: { name: KEY, version: 1, follows: false },
    });
  });

  test("names the secret or the versions in its message", () => {
    const messages = (name: string, version: number | null) =>
      pinReferences({ A: { name: name as SecretName, version } }, [secret("STRIPE_KEY" as SecretName, 4, 2)])
        ._unsafeUnwrapErr()
        .map(({ message }) => message);
    expect(messages("STRIP_KEY", null)).toEqual([
      "your account has no secret 'STRIP_KEY'; create it with 'portside secret set STRIP_KEY'. Did you mean 'STRIPE_KEY'?",
    ]);
    expect(messages("OTHER", null)).toEqual([
      "your account has no secret 'OTHER'; create it with 'portside secret set OTHER'.",
    ]);
    expect(messages("STRIPE_KEY", 3)).toEqual([
      "the secret 'STRIPE_KEY' has no version 3; use one of 4, 2, or omit the version",
    ]);
  });
});

test("pinned references are written so that a request declares them again", () => {
  fc.assert(
    fc.property(pinnedSecrets(), (pins) => {
      const { secrets, issues } = readEnvironment(JSON.parse(JSON.stringify(writeReferences(referencesOf(pins)))));
      expect(issues).toEqual([]);
      expect(Object.entries(secrets)).toEqual(Object.entries(referencesOf(pins)));
    }),
    runs(300),
  );
});

describe("a rollback", () => {
  test("restores versions that exist, and otherwise announces the newest one", () => {
    fc.assert(
      fc.property(situation(pinnedSecrets()), ({ stored, references: pins }) => {
        const restored = restorePins(7, pins, stored);
        const lost = Object.values(pins).some(({ name }) => !stored.some((one) => one.name === name));
        expect(restored.isErr()).toBe(lost);
        if (restored.isErr()) return;
        const { pins: now, notes } = restored.value;
        expect(missingPin(now, stored)).toBeUndefined();
        const replaced = Object.values(pins).filter(({ name, version }) => !exists(stored, name, version));
        expect(notes).toHaveLength(new Set(replaced.map(formatPin)).size);
        for (const [variable, pinned] of Object.entries(pins)) {
          const newest = newestVersion(stored.find(({ name }) => name === pinned.name) as StoredSecret);
          const version = exists(stored, pinned.name, pinned.version) ? pinned.version : newest;
          expect(now[variable]).toEqual({ ...pinned, version });
        }
      }),
      runs(500),
    );
  });

  test("reports replaced versions, and names a missing secret", () => {
    const pins: PinnedSecrets = { A: { name: KEY, version: 1, follows: true } };
    expect(restorePins(3, pins, [secret(KEY, 5, 2)])._unsafeUnwrap().notes).toEqual([
      "Version 1 of the secret 'KEY' was deleted; version 5 is used",
    ]);
    expect(restorePins(3, pins, [])._unsafeUnwrapErr()).toBe(
      "Release 3 uses the secret 'KEY', which was deleted. Create it with 'portside secret set KEY', then try again.",
    );
    expect(restorePins(3, undefined, [])._unsafeUnwrap()).toEqual({ pins: {}, notes: [] });
  });
});

test("a release shows the newest of several pinned versions of a secret", () => {
  const pin = (version: number) => ({ name: KEY, version, follows: false });
  expect(pinnedVersions({ A: pin(2), B: pin(5), C: pin(3) })).toEqual({ KEY: 5 });
  expect(pinnedVersions()).toEqual({});
  expect(formatPin(pin(2))).toBe("secret:KEY:2");
});

test("the message about a missing version names the secret and the version", () => {
  const pins = { A: { name: KEY, version: 2, follows: true } };
  expect(missingPin(pins, [secret(KEY, 1)])).toBe(
    "Version 2 of the secret 'KEY' was deleted in the meantime. Set it again with 'portside secret set KEY', then deploy again.",
  );
});
