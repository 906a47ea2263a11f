/** What a client and the operator learn about a call that a store of secrets rejects. */
import { expect, test } from "vitest";
import type { CallState } from "../../../../adapters/cloud/calls/provider-call.ts";
import { createRejectedCalls } from "../../../../adapters/cloud/secrets/rejected-calls.ts";
import { unavailable } from "../../../../core/errors.ts";
import { ok } from "../../../../core/result.ts";
import { recordingLogger } from "../../../support/logs/silent-logger.ts";

const stateOf = (code: CallState["code"], text: string): CallState => ({ kind: "state", code, error: text });

const open = () => {
  const { logger, logged } = recordingLogger();
  const explain = (cause: unknown) => (cause === "quota" ? "Delete secrets." : undefined);
  return { logged, ...createRejectedCalls({ store: "The store", logger, explain }) };
};

test("logs the cause of a rejection, and tells the client only where to find it", () => {
  const { logged, asUnavailable } = open();
  const error = asUnavailable(stateOf("exists", "role x"))._unsafeUnwrapErr();
  expect(error).toMatchObject({ kind: "unavailable", retryAfterSeconds: 60 });
  expect(error.message).toBe("The store rejected the request. The operator can find the reason in the server's log.");
  expect(logged).toEqual(['The store rejected the request {"error":"role x"}']);
});

test("explains a rejection that the client can resolve", () => {
  expect(open().asUnavailable(stateOf("invalid", "quota"))._unsafeUnwrapErr().message).toBe("Delete secrets.");
});

test("passes a failure of the cloud on, and returns a default only for an absent secret", () => {
  const { logged, asUnavailable, ifAbsent } = open();
  const down = unavailable("The cloud is busy.", 5);
  expect(asUnavailable(down)._unsafeUnwrapErr()).toBe(down);
  expect(ifAbsent(null)(down)._unsafeUnwrapErr()).toBe(down);
  expect(ifAbsent(null)(stateOf("not_found", "gone"))).toEqual(ok(null));
  expect(logged).toEqual([]);
  expect(ifAbsent(null)(stateOf("invalid", "broken")).isErr()).toBe(true);
});
