/** Builds platforms from settings, for Portside's own command line and for embedders. */
export { buildPlatform, type Platform, type PlatformOverrides } from "./build-platform.ts";
export { diagnose } from "./doctor.ts";
export { loggerOf } from "./logger.ts";
export { flagOf, resolveSettings, type ServeSettings, SettingsError, serveShape, variableOf } from "./settings.ts";
