/** Platforms out of settings, for Portside's own command line and for embedders that want the same. */
export { buildPlatform, type OwnParts, type Platform } from "./container.ts";
export { diagnose } from "./doctor.ts";
export { loggerOf } from "./logger.ts";
export type { ProvidedParts } from "./providers/load-provider.ts";
export { flagOf, resolveSettings, type ServeSettings, SettingsError, serveShape, variableOf } from "./settings.ts";
