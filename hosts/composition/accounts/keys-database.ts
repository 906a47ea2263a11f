/** Credentials in a PostgreSQL database that replicas share (`--keys-database`). */
import { needPackages } from "../../../adapters/shared/runtime/optional-package.ts";
import type { RuntimeDeps } from "../../../core/ports/provider-module.ts";
import { type ServeSettings, SettingsError } from "../settings.ts";
import type { PlatformIdentity } from "../tokens.ts";
import { issuersOf } from "./issuers.ts";

export interface SharedIdentity extends PlatformIdentity {
  close(): Promise<void>;
}

const CONNECTIONS_PER_REPLICA = 8;

/** @throws SettingsError if the database cannot be used; the message omits the URL, which contains a password */
export const openSharedIdentity = async (
  settings: ServeSettings,
  deps: Omit<RuntimeDeps, "telemetry">,
): Promise<SharedIdentity> => {
  const { Pool } = await needPackages("The keys database", ["pg"], () => import("pg"));
  const { createPostgresIdentity } = await import("../../../adapters/postgres/index.ts");
  const pool = new Pool({ connectionString: settings.keysDatabase, max: CONNECTIONS_PER_REPLICA });
  // pg emits this if an idle connection breaks, and opens a new one for the next call.
  pool.on("error", (cause) => deps.logger.warn("a connection to the keys database ended", { cause }));
  try {
    const { identity, claimFirstKey } = await createPostgresIdentity(pool, { ...deps, issuers: issuersOf(settings) });
    return { identity, claimFirstKey, close: () => pool.end() };
  } catch (cause) {
    await pool.end();
    const { code, message } = cause as NodeJS.ErrnoException;
    throw new SettingsError(`The keys database (PORTSIDE_KEYS_DATABASE) cannot be used: ${message || code}`, {
      cause,
    });
  }
};
