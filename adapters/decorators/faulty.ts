/**
 * Faults and delays in front of any port: for tests of what happens when a provider is slow, down, or
 * answers too late to be heard. Decorators compose; the outermost acts first.
 *
 * ```ts
 * const services = faulty(provider.services, ({ method, count }) =>
 *   method === "remove" && count === 1 ? { error: unavailable("down") } : undefined);
 * ```
 */
import type { DeployFailure } from "../../core/domain/deploy/reason.ts";
import type { ControlPlaneError } from "../../core/errors.ts";
import type { Clock } from "../../core/ports/system.ts";
import { err, errAsync, ResultAsync } from "../../core/result.ts";
import { type Method, wrapPort } from "./decorate-port.ts";

export interface PortCall {
  readonly method: string;
  /** 1 for the first call of this method. */
  readonly count: number;
  readonly args: readonly unknown[];
}

export type Fault =
  /** For methods that return a result. `after`: the port acts, and its answer is lost. */
  | { readonly error: ControlPlaneError; readonly after?: boolean }
  /** For methods that return events: they end with this failure instead. */
  | { readonly failure: DeployFailure; readonly after?: boolean };

const wrap = <P extends object>(port: P, around: (call: PortCall, method: Method) => unknown): P => {
  const counts = new Map<string, number>();
  return wrapPort(port, (name, method, args) => {
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return around({ method: name, count, args }, method);
  });
};

async function* failing(events: AsyncIterable<{ kind: string }> | undefined, failure: DeployFailure) {
  for await (const event of events ?? []) if (event.kind === "progress") yield event;
  yield { kind: "failed", failure };
}

/** The port, except where `fault` returns one for a call. */
export const faulty = <P extends object>(port: P, fault: (call: PortCall) => Fault | undefined): P =>
  wrap(port, (call, method) => {
    const found = fault(call);
    if (found === undefined) return method(...call.args);
    if ("failure" in found) {
      const events = found.after === true ? (method(...call.args) as AsyncIterable<{ kind: string }>) : undefined;
      return failing(events, found.failure);
    }
    if (found.after !== true) return errAsync(found.error);
    const lost = async () => {
      // The port acts, whatever it would have said.
      void (await (method(...call.args) as ResultAsync<unknown, unknown>));
      return err(found.error);
    };
    return new ResultAsync(lost());
  });

async function* later(start: () => AsyncIterable<unknown>, pause: () => Promise<void>) {
  await pause();
  for await (const event of start()) {
    yield event;
    await pause();
  }
}

const eventMethods = ["build", "rollout"];

/** The port, each call and each event of a stream `millis` later on `clock`. */
export const delayed = <P extends object>(port: P, clock: Clock, millis: (call: PortCall) => number): P =>
  wrap(port, (call, method) => {
    const pause = () => clock.sleep(millis(call));
    if (eventMethods.includes(call.method)) return later(() => method(...call.args) as AsyncIterable<unknown>, pause);
    const run = async () => {
      await pause();
      return await (method(...call.args) as ResultAsync<unknown, unknown>);
    };
    return new ResultAsync(run());
  });
