/**
 * Stores API keys, sessions and the token signing key in PostgreSQL, for several replicas and for machines without a
 * persistent disk.
 *
 * ```ts
 * const pool = new Pool({ connectionString });
 * const { identity } = await createPostgresIdentity(pool, { clock, ids, logger });
 * const controlPlane = createControlPlane({ ...ports, identity });
 * ```
 */
import type { JWK } from "jose";
import type { Identity } from "../../core/ports/provider.ts";
import { createIdentity, generateSigningKey, type IdentityConfig } from "../jwt/index.ts";
import type { PostgresClient } from "./accounts/client.ts";
import { migrate } from "./accounts/migrations.ts";
import { claimFirstKey, createKeyRecords, getOrCreateSecret } from "./accounts/records.ts";
import { createSessionRecords } from "./accounts/sessions.ts";

/** An identity that stores its data in PostgreSQL. */
export interface PostgresIdentity {
  readonly identity: Identity;
  /**
   * Returns true to one replica, once, if no keys exist. That replica must then create the first key. Rejects if the
   * database is unreachable.
   */
  claimFirstKey(): Promise<boolean>;
}

/**
 * Creates an identity that stores its data in PostgreSQL, and creates missing tables. The caller owns the client and
 * must close it.
 *
 * @throws if the database does not respond or its user lacks permission to create tables
 */
export const createPostgresIdentity = async (
  client: PostgresClient,
  config: Omit<IdentityConfig, "records" | "sessionRecords" | "loadSigningKey">,
): Promise<PostgresIdentity> => {
  await migrate(client);
  const make = async () => JSON.stringify(await generateSigningKey());
  const identity = createIdentity({
    ...config,
    records: createKeyRecords(client),
    sessionRecords: createSessionRecords(client),
    loadSigningKey: async () => JSON.parse(await getOrCreateSecret(client, "signing_key", make)) as JWK,
  });
  return { identity, claimFirstKey: () => claimFirstKey(client) };
};

export { accountFromClaim, type IdentityConfig, issuerAlias, type JwtIssuer } from "../jwt/index.ts";
export type { PostgresClient };
