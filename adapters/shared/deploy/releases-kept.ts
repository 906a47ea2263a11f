import { z } from "zod";
import { releaseLimits } from "../../../core/domain/accounts/limits.ts";

/** The setting `releasesKept` of each provider. */
export const releasesKept = z
  .int()
  .min(releaseLimits.kept.min)
  .max(releaseLimits.kept.max)
  .default(releaseLimits.kept.default)
  .describe("Number of releases per deployment that a rollback can restore. Portside keeps their images");
