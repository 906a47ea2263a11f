/** A builder for suites on ministack, where each build starts a container and takes seconds. */
import type { BuildEvent, ImageBuilder } from "../../../../core/ports/image-builder.ts";

type Built = Extract<BuildEvent, { kind: "built" }>;

/**
 * Builds a source once, even if several accounts deploy it. The suites trust their sources, so accounts may share
 * images.
 */
export const sharingImages = (builder: ImageBuilder): ImageBuilder => {
  const images = new Map<string, Built>();
  return {
    build: async function* (request, options) {
      const known = images.get(request.source.digest);
      if (known !== undefined) return yield known;
      for await (const event of builder.build(request, options)) {
        if (event.kind === "built") images.set(request.source.digest, event);
        yield event;
      }
    },
  };
};
