/** The client view of releases and of the differences between them. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { envDigestsOf } from "../../../../../adapters/shared/deploy/env-digests.ts";
import type { AccountId } from "../../../../../core/domain/accounts/account.ts";
import { diffReleases, releaseDiffSchema } from "../../../../../core/domain/deploy/releases/diff.ts";
import {
  authorOf,
  imageDigestOf,
  type Release,
  releaseRowOf,
  releaseSchema,
  type StoredRelease,
} from "../../../../../core/domain/deploy/releases/release.ts";
import { release } from "../../../../arbitraries/releases.ts";
import { runs } from "../../../../support/vitest/runs.ts";

const withDigests = (one: Release): StoredRelease => ({
  ...one,
  hasImage: true,
  envDigests: envDigestsOf(one.template, "key"),
});
const stored = release().map(withDigests);

test("the client view is valid, lists every variable by name and contains no value", () => {
  fc.assert(
    fc.property(stored, (one) => {
      const row = releaseRowOf(one, null);
      expect(releaseSchema.safeParse(row).error).toBeUndefined();
      expect(Object.keys(row.declaration.env)).toEqual(
        [...Object.keys(one.template.env), ...Object.keys(one.template.secrets ?? {})].sort(),
      );
      const long = Object.values(one.template.env).filter((value) => value.length > 8);
      for (const value of long) expect(Object.values(row.declaration.env)).not.toContain(value);
      const pinned = Object.values(one.template.secrets ?? {}).map(({ name }) => name);
      expect(new Set(Object.keys(row.secrets))).toEqual(new Set(pinned));
    }),
    runs(300),
  );
});

test("only the serving revision's release is serving, and a replaced release without an image is pruned", () => {
  fc.assert(
    fc.property(stored, (one) => {
      expect(releaseRowOf(one, one.revision).status).toBe("serving");
      expect(releaseRowOf({ ...one, hasImage: false }, one.revision).status).toBe("serving");
      expect(releaseRowOf(one, null).status).toBe("replaced");
      expect(releaseRowOf({ ...one, hasImage: false }, "another").status).toBe("pruned");
    }),
    runs(50),
  );
});

test("a release does not differ from itself", () => {
  fc.assert(
    fc.property(stored, (one) => {
      expect(diffReleases(one, one)).toEqual({
        from: one.release,
        to: one.release,
        changes: [],
        source_changed: false,
      });
    }),
    runs(200),
  );
});

const opposite = { added: "removed", removed: "added", changed: "changed" } as const;

test("the differences in the other direction are the same, reversed", () => {
  fc.assert(
    fc.property(stored, stored, (a, b) => {
      const [there, back] = [diffReleases(a, b), diffReleases(b, a)];
      expect(releaseDiffSchema.safeParse(there).error).toBeUndefined();
      expect(back.source_changed).toBe(there.source_changed);
      expect(back.changes).toEqual(
        there.changes.map(({ field, change, from, to }) => ({ field, change: opposite[change], from: to, to: from })),
      );
    }),
    runs(300),
  );
});

test("reports a variable as added, removed or changed if and only if its value differs", () => {
  fc.assert(
    fc.property(stored, stored, (a, b) => {
      const changes = new Map(diffReleases(a, b).changes.map(({ field, change }) => [field, change]));
      const [first, second] = [a, b].map(({ template: { env, secrets = {} } }) => {
        const pins = Object.entries(secrets).map(([name, pinned]) => [name, JSON.stringify(Object.entries(pinned))]);
        return new Map([...Object.entries(env), ...(pins as [string, string][])]);
      }) as [Map<string, string>, Map<string, string>];
      for (const name of [...first.keys(), ...second.keys()]) {
        const [before, after] = [first.get(name), second.get(name)];
        const expected = before === undefined ? "added" : after === undefined ? "removed" : "changed";
        expect(changes.get(`env.${name}`)).toBe(before === after ? undefined : expected);
      }
    }),
    runs(300),
  );
});

test("without the digest of a source, the image decides whether the source changed", () => {
  fc.assert(
    fc.property(stored, (one) => {
      const unknown = { ...one, sourceDigest: null };
      const other = { ...unknown, template: { ...unknown.template, image: "other" } };
      expect(diffReleases(unknown, unknown).source_changed).toBe(false);
      expect(diffReleases(unknown, other).source_changed).toBe(true);
      const [a, b] = ["a", "b"].map((sourceDigest) => ({ ...one, sourceDigest })) as [StoredRelease, StoredRelease];
      expect(diffReleases(a, b).source_changed).toBe(true);
    }),
    runs(20),
  );
});

test.each([
  ["local://0a1b/2c3d", "2c3d"],
  ["europe-docker.pkg.dev/project/name@sha256:0a", "sha256:0a"],
  ["memory://iss:user|1/sha256:0a", "sha256:0a"],
  ["plain", "plain"],
])("the digest of the image %s is %s", (image, digest) => expect(imageDigestOf(image)).toBe(digest));

test("the author of a release is the credential, with the label of a key", () => {
  const account = "acme" as AccountId;
  const keys = [{ id: "k1", label: "laptop" }];
  const author = (credentialKind?: "key" | "platform_token" | "issuer_token", credentialId = "k1") =>
    authorOf({ account, credentialId, ...(credentialKind === undefined ? {} : { credentialKind }) }, keys);
  expect(author("key")).toEqual({ kind: "key", id: "k1", label: "laptop" });
  expect(author("key", "k2")).toEqual({ kind: "key", id: "k2", label: "" });
  expect(author("platform_token")).toEqual({ kind: "token", id: "k1", label: "" });
  expect(author("issuer_token")).toMatchObject({ kind: "token" });
  expect(author()).toEqual({ kind: "embedder", id: "k1", label: "" });
  const session = { account, credentialId: "k1", sessionId: "s1" } as const;
  expect(authorOf({ ...session, credentialKind: "key" }, keys)).toEqual({ kind: "console", id: "k1", label: "laptop" });
  expect(authorOf({ ...session, credentialKind: "issuer_token" }, keys)).toMatchObject({ kind: "console", label: "" });
});
