/** A call of a cloud: repeated while its error passes by itself and its time lasts, and told in the port's words. */
import { expect, test } from "vitest";
import { type CallFault, providerCall } from "../../../../adapters/shared/calls/provider-call.ts";
import { UnusablePackage } from "../../../../adapters/shared/runtime/optional-package.ts";
import { millisOf } from "../../../../core/domain/wire/instant.ts";
import { createLeapingClock } from "../../../support/clocks/leaping-clock.ts";
import { keepingLogger } from "../../../support/logs/silent-logger.ts";

class Failure extends Error {
  readonly fault: CallFault;
  constructor(fault: CallFault) {
    super("secret of the cloud");
    this.fault = fault;
  }
}

const busy = new Failure({ kind: "busy" });

/** Calls something that fails so often, and then answers. */
const called = async (failures: readonly Error[], timeoutMs?: number, signal?: AbortSignal, random = 0.5) => {
  const clock = createLeapingClock();
  const { logger, said } = keepingLogger();
  const faultOf = (error: unknown) => (error instanceof Failure ? error.fault : undefined);
  const call = providerCall({ clock, logger, faultOf, cloud: "The Cloud", random: () => random });
  const begun = millisOf(clock.now());
  const moments: number[] = [];
  const left = [...failures];
  const result = await call(
    { what: "things.get", ...(timeoutMs === undefined ? {} : { timeoutMs }), signal },
    async () => {
      moments.push(millisOf(clock.now()) - begun);
      const failure = left.shift();
      if (failure !== undefined) throw failure;
      return "answer";
    },
  );
  return { result, moments, said };
};

test("an answer is given at once", async () => {
  const { result, moments } = await called([]);
  expect(result._unsafeUnwrap()).toBe("answer");
  expect(moments).toEqual([0]);
});

test("what is busy is asked again, after longer and longer pauses", async () => {
  const { result, moments } = await called([busy, busy, busy]);
  expect(result._unsafeUnwrap()).toBe("answer");
  expect(moments).toEqual([0, 150, 450, 1050]);
});

test("pauses are drawn, so that replicas do not come back at once", async () => {
  expect((await called([busy, busy], undefined, undefined, 0)).moments).toEqual([0, 100, 300]);
  expect((await called([busy, busy], undefined, undefined, 0.999)).moments[1]).toBeGreaterThan(190);
});

test("what the cloud wishes counts, where that is longer", async () => {
  const { moments } = await called([new Failure({ kind: "busy", retryAfterSeconds: 3 })]);
  expect(moments).toEqual([0, 3000]);
});

test("when its time is over it is unavailable, with a time to come back and without the cloud's words", async () => {
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

test("a pause that would outlast its time is not begun", async () => {
  const { moments } = await called([new Failure({ kind: "busy", retryAfterSeconds: 60 })]);
  expect(moments).toEqual([0]);
});

test("a refusal of the platform's own rights is not repeated, and is in the server's log", async () => {
  const { result, moments, said } = await called([new Failure({ kind: "refused" })]);
  expect(result._unsafeUnwrapErr()).toMatchObject({
    kind: "unavailable",
    message: "The Cloud refuses this platform's requests.",
    retryAfterSeconds: 60,
  });
  expect(moments).toEqual([0]);
  expect(said).toEqual([expect.stringMatching(/credentials and permissions.*things\.get/)]);
});

test("a state is the caller's to make something of", async () => {
  const { result, said } = await called([new Failure({ kind: "state", code: "not_found" })]);
  expect(result._unsafeUnwrapErr()).toMatchObject({ kind: "state", code: "not_found" });
  expect(said).toEqual([]);
});

test("a bug is thrown on", async () => {
  await expect(called([new TypeError("a bug")])).rejects.toThrow("a bug");
});

test("nobody waits any more: it is not asked again", async () => {
  const { result, moments } = await called([busy, busy], undefined, AbortSignal.abort());
  expect(result.isErr()).toBe(true);
  expect(moments).toEqual([0]);
});

test("a package that is not installed is a value with the command, and is not tried again", async () => {
  const { result, moments, said } = await called([new UnusablePackage("The provider gcp", ["@google-cloud/run"])]);
  const message = "The provider gcp needs the package '@google-cloud/run': npm install @google-cloud/run@4";
  expect(result._unsafeUnwrapErr()).toMatchObject({ kind: "unavailable", message });
  expect(moments).toEqual([0]);
  expect(JSON.stringify(said)).toContain(message);
});
