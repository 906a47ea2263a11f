/** Calls of a cloud's API: retries of transient errors until the timeout, and errors of the port. */
import { expect, test } from "vitest";
import type { CallFault } from "../../../../adapters/cloud/calls/faults.ts";
import { providerCall } from "../../../../adapters/cloud/calls/provider-call.ts";
import { UnusablePackage } from "../../../../adapters/shared/runtime/optional-package.ts";
import { millisOf } from "../../../../core/domain/wire/instant.ts";
import { createLeapingClock } from "../../../support/clocks/leaping-clock.ts";
import { recordingLogger } from "../../../support/logs/silent-logger.ts";

class Failure extends Error {
  readonly fault: CallFault;
  constructor(fault: CallFault) {
    super("secret of the cloud");
    this.fault = fault;
  }
}

const busy = new Failure({ kind: "busy" });

/** Calls a function that fails with these errors and then succeeds. */
const called = async (failures: readonly Error[], timeoutMs?: number, signal?: AbortSignal, random = 0.5) => {
  const clock = createLeapingClock();
  const { logger, logged } = recordingLogger();
  const faultOf = (error: unknown) => (error instanceof Failure ? error.fault : undefined);
  const call = providerCall({ clock, logger, faultOf, cloud: "The Cloud", random: () => random });
  const startedAt = millisOf(clock.now());
  const moments: number[] = [];
  const left = [...failures];
  const result = await call(
    { what: "things.get", ...(timeoutMs === undefined ? {} : { timeoutMs }), signal },
    async () => {
      moments.push(millisOf(clock.now()) - startedAt);
      const failure = left.shift();
      if (failure !== undefined) throw failure;
      return "answer";
    },
  );
  return { result, moments, logged };
};

test("returns a result without a pause", async () => {
  const { result, moments } = await called([]);
  expect(result._unsafeUnwrap()).toBe("answer");
  expect(moments).toEqual([0]);
});

test("retries a busy service with increasing pauses", async () => {
  const { result, moments } = await called([busy, busy, busy]);
  expect(result._unsafeUnwrap()).toBe("answer");
  expect(moments).toEqual([0, 150, 450, 1050]);
});

test("pauses are random, so that replicas do not retry at the same time", async () => {
  expect((await called([busy, busy], undefined, undefined, 0)).moments).toEqual([0, 100, 300]);
  expect((await called([busy, busy], undefined, undefined, 0.999)).moments[1]).toBeGreaterThan(190);
});

test("uses the cloud's pause if it is longer", async () => {
  const { moments } = await called([new Failure({ kind: "busy", retryAfterSeconds: 3 })]);
  expect(moments).toEqual([0, 3000]);
});

test("fails with unavailable at the timeout, with a retry delay and without the cloud's message", async () => {
  const { result, moments } = await called(
    Array.from({ length: 100 }, () => busy),
    5000,
  );
  const error = result._unsafeUnwrapErr();
  expect(error).toMatchObject({ kind: "unavailable", retryAfterSeconds: 5, cause: busy });
  expect(JSON.stringify(error)).not.toContain("secret");
  expect(moments.at(-1)).toBeLessThanOrEqual(5000);
  expect(moments.length).toBeGreaterThan(3);
});

test("does not begin a pause that exceeds the timeout", async () => {
  const { moments } = await called([new Failure({ kind: "busy", retryAfterSeconds: 60 })]);
  expect(moments).toEqual([0]);
});

test("does not retry a permission error, and logs it", async () => {
  const { result, moments, logged } = await called([new Failure({ kind: "refused" })]);
  expect(result._unsafeUnwrapErr()).toMatchObject({
    kind: "unavailable",
    message: "The Cloud rejects this platform's requests. The operator can find the reason in the server's log.",
    retryAfterSeconds: 60,
  });
  expect(moments).toEqual([0]);
  expect(logged).toEqual([expect.stringMatching(/credentials and permissions.*things\.get/)]);
});

test("returns a state to the caller", async () => {
  const { result, logged } = await called([new Failure({ kind: "state", code: "not_found" })]);
  expect(result._unsafeUnwrapErr()).toMatchObject({ kind: "state", code: "not_found" });
  expect(logged).toEqual([]);
});

test("rethrows a bug", async () => {
  await expect(called([new TypeError("a bug")])).rejects.toThrow("a bug");
});

test("does not retry after an abort", async () => {
  const { result, moments } = await called([busy, busy], undefined, AbortSignal.abort());
  expect(result.isErr()).toBe(true);
  expect(moments).toEqual([0]);
});

test("returns the install command for a missing package, and does not retry", async () => {
  const { result, moments, logged } = await called([new UnusablePackage("The provider gcp", ["@google-cloud/run"])]);
  const message = "The provider gcp needs the package '@google-cloud/run': npm install @google-cloud/run@4";
  expect(result._unsafeUnwrapErr()).toMatchObject({ kind: "unavailable", message });
  expect(moments).toEqual([0]);
  expect(JSON.stringify(logged)).toContain(message);
});
