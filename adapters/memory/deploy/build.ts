/** Stores sources and images in memory. A build reads the source and records its digest. */
import { unavailable } from "../../../core/errors.ts";
import type { BuildEvent, BuildRequest, ImageBuilder } from "../../../core/ports/image-builder.ts";
import type { ReceivedSource, SourceSpool } from "../../../core/ports/source-spool.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { ResultAsync } from "../../../core/result.ts";
import { receiveArchive } from "../../shared/archives/receive-archive.ts";
import type { World } from "../world.ts";

async function* replay(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

/** Stores received sources until the caller discards them. */
export const createMemorySpool = (): SourceSpool => ({
  receive: (bytes, options = {}) => {
    let chunks: Uint8Array[] = [];
    const write = async (chunk: Uint8Array) => void chunks.push(Uint8Array.from(chunk));
    const receive = async (): Promise<ReceivedSource> => {
      const received = await receiveArchive(bytes, { write }, options);
      if (!received.ok) return { kind: "rejected", issues: received.issues };
      const discard = async () => {
        chunks = [];
      };
      return {
        kind: "accepted",
        source: { digest: received.digest, bytes: received.bytes, open: () => replay(chunks), discard },
      };
    };
    return ResultAsync.fromPromise(receive(), (cause) =>
      unavailable("The source could not be received. Send it again.", 5, cause),
    );
  },
});

async function* build(world: World, request: BuildRequest, { signal }: CallOptions): AsyncGenerator<BuildEvent> {
  const image = `memory://${request.owner}/${request.source.digest}`;
  const known = world.images.has(image);
  yield { kind: "progress", message: known ? "The source was built before" : "Reading the source" };
  if (!known) for await (const _chunk of request.source.open()) if (signal?.aborted === true) break;
  if (signal?.aborted === true)
    return yield { kind: "failed", failure: { reason: "interrupted", message: "The build was cancelled." } };
  world.images.add(image);
  yield { kind: "built", image };
}

export const createMemoryBuilder = (world: World): ImageBuilder => ({
  build: (request, options = {}) => build(world, request, options),
});
