/** Errors of Google's clients, by code. */
import { describe, expect, test } from "vitest";
import { googleFault } from "../../../adapters/gcp/errors.ts";

const failure = (code: number | string, more: object = {}) => Object.assign(new Error("words"), { code, ...more });

describe("codes", () => {
  test.each([
    [8, "busy"],
    [14, "busy"],
    [4, "busy"],
    [429, "busy"],
    [500, "busy"],
    [503, "busy"],
    [2, "busy"],
    ["ECONNRESET", "busy"],
    ["EHOSTUNREACH", "busy"],
    ["ENETUNREACH", "busy"],
    ["AbortError", "busy"],
    ["TimeoutError", "busy"],
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

test.each([
  ["of gaxios", new Headers({ "retry-after": "12.2" })],
  ["of nodejs-common", { "retry-after": "12.2" }],
])("keeps the retry-after of an error %s", (_package, headers) => {
  expect(googleFault(failure(429, { response: { headers } }))).toEqual({ kind: "busy", retryAfterSeconds: 13 });
});

test.each([new Error("no code"), failure("ERR_INVALID_ARG_TYPE"), "text", null])("%s is a bug", (error) => {
  expect(googleFault(error)).toBeUndefined();
});

test("expired credentials are refused, not a state of the resource", () => {
  const of = (error: unknown) => failure(400, { response: { data: { error } } });
  expect(googleFault(of("invalid_grant"))).toEqual({ kind: "refused" });
  expect(googleFault(of({ code: 400, message: "Invalid bucket name" }))).toEqual({ kind: "state", code: "invalid" });
});
