/** Builds platforms from settings, for Portside's own command line and for embedders. */
export { buildPlatform, type OwnParts, type Platform } from "./container.ts";
export { diagnose } from "./doctor.ts";
export { loggerOf } from "./logger.ts";
export type { ProvidedParts } from "./providers/load-provider.ts";
export { flagOf, resolveSettings, type ServeSettings, SettingsError, serveShape, variableOf } from "./settings.ts";
