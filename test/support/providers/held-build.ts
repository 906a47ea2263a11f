/** Ports whose builds wait for the test, so that it can check the state in between without sleeps. */
import type { BuildEvent, BuildRequest, ImageBuilder } from "../../../core/ports/image-builder.ts";
import type { Ports } from "../../../core/ports/provider.ts";
import type { CallOptions } from "../../../core/ports/system.ts";

export interface HeldBuild {
  readonly ports: Ports;
  /** Resolves when a build has begun to wait. */
  readonly waiting: Promise<void>;
  /** Lets every current and future build continue. */
  release(): void;
}

export interface HoldOptions {
  /** Builds ignore an abort, like a slow builder. */
  readonly ignoresAbort?: boolean;
}

const ended = (signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve) => signal?.addEventListener("abort", () => resolve(), { once: true }));

export const holdBuilds = (ports: Ports, { ignoresAbort = false }: HoldOptions = {}): HeldBuild => {
  const released = Promise.withResolvers<void>();
  const waiting = Promise.withResolvers<void>();
  const { builder } = ports.provider;
  async function* build(request: BuildRequest, options: CallOptions = {}): AsyncGenerator<BuildEvent> {
    yield { kind: "progress", message: "Waiting for the test" };
    waiting.resolve();
    await Promise.race([released.promise, ...(ignoresAbort ? [] : [ended(options.signal)])]);
    yield* builder.build(request, options);
  }
  const held: ImageBuilder = { build };
  return {
    ports: { ...ports, provider: { ...ports.provider, builder: held } },
    waiting: waiting.promise,
    release: () => released.resolve(),
  };
};
