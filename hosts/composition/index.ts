/** Platforms out of settings, for Portside's own command line and for embedders that want the same. */
export { buildPlatform, type Platform } from "./container.ts";
export { diagnose } from "./doctor.ts";
export type { ProvidedParts } from "./providers.ts";
export { flagOf, resolveSettings, type ServeSettings, SettingsError, serveShape, variableOf } from "./settings.ts";
export {
  BILLING,
  CLOCK,
  CONTROL_PLANE,
  IDENTITY,
  IDS,
  LOGGER,
  PORTS,
  PROVIDER,
  SETTINGS,
  WATCHING,
} from "./tokens.ts";
export type { Watching } from "./watching.ts";
