/** The cookie of session affinity: how it is created, found among others, and validated. */
import { assert, property, string } from "fast-check";
import { describe, expect, test } from "vitest";
import { affinityCookie, affinityInstance } from "../../../../adapters/local/ingress/affinity.ts";

const ID = "k3v9x0a1b2c3d4e5f6g7";

describe("the affinity cookie", () => {
  test("is valid for every path and the session, and hidden from scripts", () => {
    expect(affinityCookie(ID)).toBe(`portside_affinity=${ID}; Path=/; HttpOnly; SameSite=Lax`);
  });

  test.each([
    ["alone", `portside_affinity=${ID}`],
    ["first", `portside_affinity=${ID}; theme=dark`],
    ["last", `theme=dark; portside_affinity=${ID}`],
    ["without the usual space", `theme=dark;portside_affinity=${ID};a=b`],
    ["in the form that a client returns", affinityCookie(ID)],
    ["after a cookie with a similar name", `not_portside_affinity=other; portside_affinity=${ID}`],
  ])("is found: %s", (_words, header) => {
    expect(affinityInstance(header)).toBe(ID);
  });

  test.each([
    ["no cookies", undefined],
    ["other cookies", "theme=dark; lang=fr"],
    ["another cookie that contains its name", `theme=portside_affinity`],
    ["no value", "portside_affinity"],
    ["an empty value", "portside_affinity="],
    ["a value that is not an instance id", "portside_affinity=../../etc"],
    ["an overlong value", `portside_affinity=${"a".repeat(41)}`],
  ])("is not found: %s", (_words, header) => {
    expect(affinityInstance(header)).toBeUndefined();
  });

  test("returns an instance id or nothing for any header", () =>
    assert(
      property(string(), string(), (before, value) => {
        const found = affinityInstance(`${before}; portside_affinity=${value}`);
        expect(found ?? "none").toMatch(/^[a-z0-9]{1,40}$/);
      }),
    ));
});
