/** Ports whose builds wait for the test's word, so that what happens meanwhile can be looked at without clocks. */
import type { BuildEvent, BuildRequest, ImageBuilder } from "../../../core/ports/image-builder.ts";
import type { Ports } from "../../../core/ports/provider.ts";
import type { CallOptions } from "../../../core/ports/system.ts";

export interface HeldBuild {
  readonly ports: Ports;
  /** Resolves when a build has begun to wait. */
  readonly waiting: Promise<void>;
  /** Lets every build go on, those to come as well. */
  release(): void;
}

export interface HoldOptions {
  /** Builds that are told to end go on waiting, as a slow builder would. */
  readonly stubborn?: boolean;
}

const ended = (signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve) => signal?.addEventListener("abort", () => resolve(), { once: true }));

export const holdBuilds = (ports: Ports, { stubborn = false }: HoldOptions = {}): HeldBuild => {
  const released = Promise.withResolvers<void>();
  const waiting = Promise.withResolvers<void>();
  const { builder } = ports.provider;
  async function* build(request: BuildRequest, options: CallOptions = {}): AsyncGenerator<BuildEvent> {
    yield { kind: "progress", message: "Waiting for the test" };
    waiting.resolve();
    await Promise.race([released.promise, ...(stubborn ? [] : [ended(options.signal)])]);
    yield* builder.build(request, options);
  }
  const held: ImageBuilder = { build };
  return {
    ports: { ...ports, provider: { ...ports.provider, builder: held } },
    waiting: waiting.promise,
    release: () => released.resolve(),
  };
};
