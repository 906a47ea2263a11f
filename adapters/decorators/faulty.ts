/**
 * Injects faults and delays into a port, to test with a provider that is slow, does not respond or loses responses.
 * Decorators can be nested; the outermost acts first.
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

/** A port call, as `faulty` and `delayed` pass it to their callbacks. */
export interface PortCall {
  readonly method: string;
  /** The number of calls of this method so far, including this one. */
  readonly count: number;
  readonly args: readonly unknown[];
}

/** A fault that replaces the result of a call. */
export type Fault =
  /** For methods that return a result. With `after`, the port completes the call, but its response is lost. */
  | { readonly error: ControlPlaneError; readonly after?: boolean }
  /**
   * For methods that yield events. The stream ends with this failure. With `after`, the port completes the call first.
   */
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

/** Returns the port with faults: a call fails if `fault` returns a fault for it. */
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

/** Returns the port with each call, and each event of a stream, delayed by `millis` on `clock`. */
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
