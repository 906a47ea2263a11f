/** A long port call ends with its last event, at its deadline or on an abort, even if the port ignores the abort. */
import { describe, expect, test } from "vitest";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { awaitFinalEvent } from "../../../../core/use-cases/deploy/await-final-event.ts";
import { whileTicking } from "../../../simulation/ticking.ts";

type Event =
  | { readonly kind: "progress"; readonly message: string }
  | { readonly kind: "ready" }
  | { readonly kind: "ended" };

const never = new Promise<never>(() => undefined);

/** A port that reports its abort. */
async function* obedient(signal: AbortSignal): AsyncGenerator<Event> {
  yield { kind: "progress", message: "began" };
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve());
  });
  yield { kind: "ended" };
}

/** A port that hangs and ignores the abort. */
async function* deaf(): AsyncGenerator<Event> {
  yield { kind: "progress", message: "began" };
  await never;
}

const watch = async (
  start: (signal: AbortSignal) => AsyncIterable<Event>,
  deadline = 60_000,
  signal = new AbortController().signal,
) => {
  const clock = createManualClock();
  const messages: string[] = [];
  const from = clock.now();
  const watched = await whileTicking(
    clock,
    awaitFinalEvent<Event>(start, { clock, signal, deadline }, (message) => messages.push(message)),
  );
  return { ...watched, messages, seconds: Number((clock.now() - from) / 1_000_000_000n) };
};

test("the port's last event is the outcome", async () => {
  const watched = await watch(async function* () {
    yield { kind: "progress", message: "one" };
    yield { kind: "progress", message: "two" };
    yield { kind: "ready" };
  });
  expect(watched).toMatchObject({ end: { kind: "ready" }, timedOut: false, messages: ["one", "two"] });
});

test("a port that ends without a last event has no outcome", async () => {
  expect(await watch(async function* () {})).toMatchObject({ end: undefined, timedOut: false });
});

describe("the deadline", () => {
  test("aborts the call, whose last event still counts", async () => {
    const watched = await watch(obedient);
    expect(watched).toMatchObject({ end: { kind: "ended" }, timedOut: true });
    expect(watched.seconds).toBeGreaterThanOrEqual(60);
    expect(watched.seconds).toBeLessThanOrEqual(62);
  });

  test("abandons a port that ignores the abort after 15 s", async () => {
    const watched = await watch(deaf);
    expect(watched).toMatchObject({ end: undefined, timedOut: true });
    expect(watched.seconds).toBeGreaterThanOrEqual(75);
    expect(watched.seconds).toBeLessThanOrEqual(77);
  });
});

describe("an abort", () => {
  const abortedAfter = (millis: number) => {
    const abort = new AbortController();
    const clock = createManualClock();
    void clock.sleep(millis).then(() => abort.abort());
    return { abort, clock };
  };

  test("reaches the port", async () => {
    const { abort, clock } = abortedAfter(5000);
    const watched = await whileTicking(
      clock,
      awaitFinalEvent<Event>(obedient, { clock, signal: abort.signal, deadline: 60_000 }, () => undefined),
    );
    expect(watched).toEqual({ end: { kind: "ended" }, timedOut: false });
  });

  test("reaches the port even if it precedes the call; a port that ignores it is abandoned after 15 s", async () => {
    const gone = AbortSignal.abort();
    expect(await watch(obedient, 60_000, gone)).toMatchObject({ end: { kind: "ended" }, timedOut: false });
    const watched = await watch(deaf, 3_600_000, gone);
    expect(watched).toMatchObject({ end: undefined, timedOut: false });
    expect(watched.seconds).toBeLessThanOrEqual(17);
  });

  test("is not reported as a timeout, even if the deadline passes before the port ends", async () => {
    const { abort, clock } = abortedAfter(59_000);
    const watched = await whileTicking(
      clock,
      awaitFinalEvent<Event>(deaf, { clock, signal: abort.signal, deadline: 60_000 }, () => undefined),
    );
    expect(watched).toEqual({ end: undefined, timedOut: false });
  });
});

test("events after the call was abandoned are dropped", async () => {
  const clock = createManualClock();
  const messages: string[] = [];
  const late = async function* (): AsyncGenerator<Event> {
    await clock.sleep(80_000);
    yield { kind: "progress", message: "too late" };
  };
  const watched = awaitFinalEvent<Event>(
    late,
    { clock, signal: new AbortController().signal, deadline: 60_000 },
    (message) => messages.push(message),
  );
  await clock.advance(100_000);
  expect(await watched).toEqual({ end: undefined, timedOut: true });
  expect(messages).toEqual([]);
});

test("rethrows an exception of the port, which is a bug", async () => {
  const broken = async function* (): AsyncGenerator<Event> {
    yield { kind: "progress", message: "began" };
    throw new Error("bug");
  };
  await expect(watch(broken)).rejects.toThrow("bug");
});

test("leaves no timer and no listener", async () => {
  const abort = new AbortController();
  let listeners = 0;
  const { addEventListener, removeEventListener } = abort.signal;
  abort.signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
    listeners++;
    addEventListener.apply(abort.signal, args);
  };
  abort.signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
    listeners--;
    removeEventListener.apply(abort.signal, args);
  };
  await watch(
    async function* () {
      yield { kind: "ready" };
    },
    60_000,
    abort.signal,
  );
  expect(listeners).toBe(0);
});
