/** The cookie of session affinity: made, found among others, and never believed blindly. */
import { assert, property, string } from "fast-check";
import { describe, expect, test } from "vitest";
import { affinityCookie, affinityInstance } from "../../../../adapters/local/ingress/affinity.ts";

const ID = "k3v9x0a1b2c3d4e5f6g7";

describe("the affinity cookie", () => {
  test("is for every path, hidden from scripts, and lasts as long as the session", () => {
    expect(affinityCookie(ID)).toBe(`portside_affinity=${ID}; Path=/; HttpOnly; SameSite=Lax`);
  });

  test.each([
    ["alone", `portside_affinity=${ID}`],
    ["first", `portside_affinity=${ID}; theme=dark`],
    ["last", `theme=dark; portside_affinity=${ID}`],
    ["without the usual space", `theme=dark;portside_affinity=${ID};a=b`],
    ["as a client sends back what it was given", affinityCookie(ID)],
    ["behind one whose name ends alike", `not_portside_affinity=other; portside_affinity=${ID}`],
  ])("is found: %s", (_words, header) => {
    expect(affinityInstance(header)).toBe(ID);
  });

  test.each([
    ["no cookies", undefined],
    ["other cookies", "theme=dark; lang=fr"],
    ["another cookie that mentions it", `theme=portside_affinity`],
    ["no value", "portside_affinity"],
    ["an empty value", "portside_affinity="],
    ["a value that is no instance's id", "portside_affinity=../../etc"],
    ["a value that is too long", `portside_affinity=${"a".repeat(41)}`],
  ])("is not found: %s", (_words, header) => {
    expect(affinityInstance(header)).toBeUndefined();
  });

  test("whatever a client sends, the answer is an id's form or nothing", () =>
    assert(
      property(string(), string(), (before, value) => {
        const found = affinityInstance(`${before}; portside_affinity=${value}`);
        expect(found ?? "none").toMatch(/^[a-z0-9]{1,40}$/);
      }),
    ));
});
