/** A signed URL permits exactly what it states, and no similar text permits anything else. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  readTarget,
  readUpload,
  type StorageMethod,
  type StorageTarget,
  signatureProblem,
  signUrl,
} from "../../../../adapters/shared/volumes/signed-url.ts";
import { type ObjectPath, parseObjectPath } from "../../../../core/domain/volumes/object-path.ts";
import { type Instant, parseInstant, plusMillis } from "../../../../core/domain/wire/instant.ts";
import { character, nastyString } from "../../../arbitraries/index.ts";
import { runs } from "../../../support/vitest/runs.ts";

const KEY = "k".repeat(64);
const BASE = "http://127.0.0.1:8080";
const now = parseInstant("2026-01-01T00:00:00Z") as Instant;
const until = plusMillis(now, 60_000);

const part = fc
  .oneof(fc.constantFrom("a", "%2e%2e", "...", "b c", "é", "😀", "?x=1", "#f", "a+b", "%", "a&b"), nastyString())
  .map((text) => text.replaceAll("/", ""));
const path = fc
  .array(part, { minLength: 1, maxLength: 4 })
  .map((parts) => parts.join("/"))
  .filter((text) => parseObjectPath(text) !== undefined)
  .map((text) => text as ObjectPath);
const method = fc.constantFrom<StorageMethod>("GET", "PUT");
const right = fc.record({ method, bucket: fc.constantFrom("vol-1", "vol-2"), path });

const targetOf = (url: string): string => url.slice(BASE.length);

/** The right that the storage grants for a target, or undefined. */
const proven = (target: string, asked: StorageMethod, at: Instant = now): string | undefined => {
  const read = readTarget(target);
  if (read === undefined || signatureProblem(KEY, asked, read, at) !== undefined) return undefined;
  return JSON.stringify([asked, read.bucket, read.path]);
};

const wordsOf = (one: { method: string; bucket: string; path: string }) =>
  JSON.stringify([one.method, one.bucket, one.path]);

describe("a signed URL", () => {
  test("is unchanged by URL parsers, and is valid until its last second", () => {
    fc.assert(
      fc.property(right, (one) => {
        const { url, expiresAt } = signUrl(KEY, BASE, one, until);
        expect(new URL(url).href).toBe(url);
        expect(proven(targetOf(url), one.method)).toBe(wordsOf(one));
        expect(proven(targetOf(url), one.method, plusMillis(expiresAt, -1))).toBe(wordsOf(one));
        expect(proven(targetOf(url), one.method, expiresAt)).toBeUndefined();
        expect(proven(targetOf(url), one.method, plusMillis(expiresAt, 1000))).toBeUndefined();
      }),
      runs(500),
    );
  });

  test("never lasts longer than requested", () => {
    fc.assert(
      fc.property(right, fc.nat({ max: 7_200_000 }), (one, millis) => {
        const wanted = plusMillis(now, millis);
        const { expiresAt } = signUrl(KEY, BASE, one, wanted);
        expect(expiresAt <= wanted && wanted < plusMillis(expiresAt, 1000)).toBe(true);
      }),
      runs(200),
    );
  });

  test("is invalid for a different method, bucket, path or key", () => {
    fc.assert(
      fc.property(right, right, (one, other) => {
        const [mine, theirs] = [signUrl(KEY, BASE, one, until).url, signUrl(KEY, BASE, other, until).url];
        const query = mine.slice(mine.indexOf("?"));
        // The target of `other` with the signature of `one`.
        const mixed = targetOf(theirs.slice(0, theirs.indexOf("?")) + query);
        const same = wordsOf(one) === wordsOf(other);
        expect(proven(mixed, other.method)).toBe(same ? wordsOf(one) : undefined);
        expect(proven(targetOf(signUrl(`${KEY}x`, BASE, one, until).url), one.method)).toBeUndefined();
      }),
      runs(500),
    );
  });
});

describe("the URL of a part", () => {
  const upload = fc.record({ upload: fc.string({ minLength: 1 }), part: fc.nat(9), length: fc.nat() });

  test("permits only this part of this upload with this length", () => {
    fc.assert(
      fc.property(right, upload, upload, (one, mine, theirs) => {
        const target = readTarget(targetOf(signUrl(KEY, BASE, one, until, mine).url)) as StorageTarget;
        expect(signatureProblem(KEY, one.method, target, now)).toBeUndefined();
        expect(readUpload(target.query)).toEqual(mine);
        const changed = (change: (query: URLSearchParams) => void): string | undefined => {
          const query = new URLSearchParams(target.query);
          change(query);
          return signatureProblem(KEY, one.method, { ...target, query }, now);
        };
        for (const [name, value] of Object.entries(theirs)) {
          const same = String(mine[name as keyof typeof mine]) === String(value);
          const problem = changed((query) => query.set(name, String(value)));
          expect(problem === undefined).toBe(same);
          expect(changed((query) => query.delete(name))).toBeDefined();
        }
        // The URL of a whole object permits no part.
        const whole = readTarget(targetOf(signUrl(KEY, BASE, one, until).url)) as StorageTarget;
        for (const [name, value] of Object.entries(mine)) whole.query.set(name, String(value));
        expect(signatureProblem(KEY, one.method, whole, now)).toBeDefined();
      }),
      runs(200),
    );
  });
});

describe("a changed URL", () => {
  const inserted = fc.oneof(
    fc.constantFrom(..."/\\.%?#&=+;:@ 0123456789abcdef\0"),
    fc.constantFrom("%2F", "%2e", "%00", "%5C", "..", "../", "%252e", "%ff", "é"),
    character(),
  );

  test("grants the original right or none after a change at any character", () => {
    fc.assert(
      fc.property(right, fc.nat(), fc.nat({ max: 3 }), inserted, method, (one, where, length, text, asked) => {
        const target = targetOf(signUrl(KEY, BASE, one, until).url);
        const at = where % (target.length + 1);
        const changed = target.slice(0, at) + text + target.slice(at + length);
        // Another spelling of the same target grants the same right.
        expect([wordsOf(one), undefined]).toContain(proven(changed, asked));
        if (asked !== one.method) expect(proven(changed, asked)).toBeUndefined();
      }),
      runs(5000),
    );
  });

  test("is invalid if any digit of its query was changed", () => {
    fc.assert(
      fc.property(right, fc.nat(), fc.constantFrom(..."0123456789abcdefg"), (one, where, digit) => {
        const target = targetOf(signUrl(KEY, BASE, one, until).url);
        const from = target.indexOf("?expires=") + "?expires=".length;
        const at = from + (where % (target.length - from));
        fc.pre(target[at] !== digit);
        expect(proven(target.slice(0, at) + digit + target.slice(at + 1), one.method)).toBeUndefined();
      }),
      runs(1000),
    );
  });

  test("uses the first value of a repeated parameter", () => {
    const target = targetOf(signUrl(KEY, BASE, { method: "GET", bucket: "vol-1", path: "a" as ObjectPath }, now).url);
    // The URL has expired. A later `expires` before or after the signed one has no effect.
    const at = plusMillis(now, 60_000);
    expect(proven(`${target}&expires=9999999999`, "GET", at)).toBeUndefined();
    expect(proven(target.replace("?", "?expires=9999999999&"), "GET", at)).toBeUndefined();
    expect(proven(`${target}&signature=00`, "GET", plusMillis(now, -1))).toBeDefined();
    expect(proven(target.replace("?", "?signature=00&"), "GET", plusMillis(now, -1))).toBeUndefined();
  });
});

describe("a target", () => {
  const place = "/_portside/storage/";

  test.each([
    ["another path", "/elsewhere/vol-1/a"],
    ["no object", `${place}vol-1`],
    ["an empty object", `${place}vol-1/`],
    ["a part that goes up", `${place}vol-1/../vol-2/a`],
    ["an encoded part that goes up", `${place}vol-1/%2e%2e/vol-2/a`],
    ["a part that goes up, half of it encoded", `${place}vol-1/.%2E/a`],
    ["a part that stays", `${place}vol-1/./a`],
    ["an encoded slash", `${place}vol-1/a%2Fb`],
    ["an encoded slash in the bucket", `${place}vol-1%2Fa`],
    ["a backslash", `${place}vol-1/a\\b`],
    ["an encoded backslash", `${place}vol-1/..%5Cb`],
    ["a null byte", `${place}vol-1/a%00`],
    ["a line break, which separates the parts of the signed text", `${place}vol-1/a%0A1767225660`],
    ["an empty part", `${place}vol-1//a`],
    ["bytes that are not UTF-8", `${place}vol-1/%ff%fe`],
    ["an overlong slash", `${place}vol-1/%c0%af`],
    ["an incomplete character", `${place}vol-1/%f0%9f`],
    ["a percent sign alone", `${place}vol-1/100%`],
    ["a bucket with a dot", `${place}../a`],
    ["an encoded bucket that goes up", `${place}%2e%2e/a`],
    ["a very long part", `${place}vol-1/${"a".repeat(256)}`],
    ["a very long path", `${place}vol-1/${"a/".repeat(600)}a`],
    ["a very long bucket", `${place}${"a".repeat(65)}/a`],
  ])("with %s names no object", (_what, target) => expect(readTarget(target)).toBeUndefined());

  test("is decoded once", () => {
    expect(readTarget(`${place}vol-1/%252e%252e/a%252Fb`)).toMatchObject({ path: "%2e%2e/a%2Fb" });
  });
});
