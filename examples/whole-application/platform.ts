/** The only place that selects the provider: PORTSIDE_PROVIDER=memory|local|gcp|aws. */
import { buildPlatform, type Platform, resolveSettings } from "portside/composition";
import type { Clock, Logger } from "portside/ports";
import { policies } from "./policies.ts";

export const createPlatform = async (
  env: NodeJS.ProcessEnv,
  deps: { clock: Clock; logger: Logger },
): Promise<Platform> =>
  buildPlatform(resolveSettings({}, { PORTSIDE_METRICS_PORT: "0", ...env }), { ...deps, policies });
