/** The decorators that inject faults and delays into ports do exactly what a test requests. */
import { describe, expect, test } from "vitest";
import { delayed, faulty, type PortCall } from "../../../adapters/decorators/faulty.ts";
import { createManualClock } from "../../../adapters/memory/index.ts";
import { unavailable } from "../../../core/errors.ts";
import { okAsync, type ResultAsync } from "../../../core/result.ts";

interface Toy {
  readonly name: string;
  put(value: string): ResultAsync<string, { readonly kind: "unavailable" }>;
  get(): ResultAsync<readonly string[], { readonly kind: "unavailable" }>;
  rollout(value: string): AsyncIterable<{ readonly kind: string; readonly value?: string }>;
}

class ToyPort implements Toy {
  readonly name = "toy";
  readonly #values: string[] = [];

  put(value: string) {
    this.#values.push(value);
    return okAsync(value);
  }

  get() {
    return okAsync([...this.#values]);
  }

  async *rollout(value: string) {
    yield { kind: "progress", value: "began" };
    this.#values.push(value);
    yield { kind: "ready", value };
  }
}

const down = unavailable("down");
const lost = { reason: "provider_unavailable", message: "lost" } as const;
const kinds = async (events: AsyncIterable<{ readonly kind: string }>) =>
  (await Array.fromAsync(events)).map(({ kind }) => kind);

describe("faulty", () => {
  test("without a fault the port is unchanged", async () => {
    const port = faulty<Toy>(new ToyPort(), () => undefined);
    expect(port.name).toBe("toy");
    expect((await port.put("a"))._unsafeUnwrap()).toBe("a");
    expect((await port.get())._unsafeUnwrap()).toEqual(["a"]);
    expect(await kinds(port.rollout("b"))).toEqual(["progress", "ready"]);
  });

  test("a fault gets the method, the arguments and the number of the call", async () => {
    const calls: PortCall[] = [];
    const port = faulty<Toy>(new ToyPort(), (call) => void calls.push(call));
    const answers = [await port.put("a"), await port.get(), await port.put("b")];
    expect(answers.every((answer) => answer.isOk())).toBe(true);
    expect(calls).toEqual([
      { method: "put", count: 1, args: ["a"] },
      { method: "get", count: 1, args: [] },
      { method: "put", count: 2, args: ["b"] },
    ]);
  });

  test("an error before: the port does nothing", async () => {
    const port = faulty<Toy>(new ToyPort(), ({ method, count }) =>
      method === "put" && count === 2 ? { error: down } : undefined,
    );
    expect((await port.put("a")).isOk()).toBe(true);
    expect((await port.put("b"))._unsafeUnwrapErr()).toBe(down);
    expect((await port.put("c")).isOk()).toBe(true);
    expect((await port.get())._unsafeUnwrap()).toEqual(["a", "c"]);
  });

  test("an error after: the port acts, and its response is lost", async () => {
    const port = faulty<Toy>(new ToyPort(), ({ method }) =>
      method === "put" ? { error: down, after: true } : undefined,
    );
    expect((await port.put("a"))._unsafeUnwrapErr()).toBe(down);
    expect((await port.get())._unsafeUnwrap()).toEqual(["a"]);
  });

  test("events end with the failure, before or after the port acts", async () => {
    const fault = (after: boolean) => (call: PortCall) =>
      call.method === "rollout" ? { failure: lost, after } : undefined;
    const early = faulty<Toy>(new ToyPort(), fault(false));
    expect(await Array.fromAsync(early.rollout("a"))).toEqual([{ kind: "failed", failure: lost }]);
    expect((await early.get())._unsafeUnwrap()).toEqual([]);
    const late = faulty<Toy>(new ToyPort(), fault(true));
    expect(await kinds(late.rollout("a"))).toEqual(["progress", "failed"]);
    expect((await late.get())._unsafeUnwrap()).toEqual(["a"]);
  });
});

describe("delayed", () => {
  test("a call waits for the clock, then runs once", async () => {
    const clock = createManualClock();
    const inner = new ToyPort();
    const port = delayed<Toy>(inner, clock, () => 1000);
    const answer = port.put("a");
    await clock.advance(999);
    expect((await inner.get())._unsafeUnwrap()).toEqual([]);
    await clock.advance(1);
    expect((await answer)._unsafeUnwrap()).toBe("a");
    expect((await inner.get())._unsafeUnwrap()).toEqual(["a"]);
  });

  test("every event of a stream waits", async () => {
    const clock = createManualClock();
    const seen: string[] = [];
    const follow = async () => {
      for await (const { kind } of delayed<Toy>(new ToyPort(), clock, () => 1000).rollout("a")) seen.push(kind);
    };
    const followed = follow();
    await clock.advance(1000);
    expect(seen).toEqual(["progress"]);
    await clock.advance(1000);
    expect(seen).toEqual(["progress", "ready"]);
    await clock.advance(1000);
    await followed;
  });

  test("the delay may depend on the call", async () => {
    const clock = createManualClock();
    const port = delayed<Toy>(new ToyPort(), clock, ({ count }) => (count === 1 ? 2000 : 0));
    const order: string[] = [];
    const slow = port.put("slow").map(() => order.push("slow"));
    const fast = port.put("fast").map(() => order.push("fast"));
    await clock.advance(2000);
    await Promise.all([slow, fast]);
    expect(order).toEqual(["fast", "slow"]);
  });

  test("the outermost decorator acts first: a fault outside of a delay does not wait", async () => {
    const clock = createManualClock();
    const port = faulty<Toy>(
      delayed<Toy>(new ToyPort(), clock, () => 1000),
      () => ({ error: down }),
    );
    expect((await port.put("a")).isErr()).toBe(true);
  });
});
