/** What Google's clients throw, by code. */
import { describe, expect, test } from "vitest";
import { googleFault } from "../../../adapters/gcp/errors.ts";

const failure = (code: number | string, more: object = {}) => Object.assign(new Error("words"), { code, ...more });

describe("a code has one meaning", () => {
  test.each([
    [8, "busy"],
    [14, "busy"],
    [4, "busy"],
    [429, "busy"],
    [500, "busy"],
    [503, "busy"],
    ["ECONNRESET", "busy"],
    ["ETIMEDOUT", "busy"],
    [7, "refused"],
    [16, "refused"],
    [401, "refused"],
    [403, "refused"],
  ])("%s: %s", (code, kind) => expect(googleFault(failure(code))).toMatchObject({ kind }));

  test.each([
    [5, "not_found"],
    [404, "not_found"],
    [6, "exists"],
    [409, "exists"],
    [10, "changed"],
    [412, "changed"],
    [3, "invalid"],
    [400, "invalid"],
  ])("%s: the state %s", (code, state) => expect(googleFault(failure(code))).toEqual({ kind: "state", code: state }));
});

test("a wish of when to come back is kept", () => {
  expect(googleFault(failure(429, { headers: { "retry-after": "12.2" } }))).toEqual({
    kind: "busy",
    retryAfterSeconds: 13,
  });
});

test.each([new Error("no code"), failure("ERR_INVALID_ARG_TYPE"), failure(2), "text", null])("%s is a bug", (error) => {
  expect(googleFault(error)).toBeUndefined();
});
