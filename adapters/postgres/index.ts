/**
 * Credentials in PostgreSQL, for several replicas, and for machines whose disk does not last: keys, and the key that signs
 * the platform's own tokens.
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
import { claimFirstKey, createKeyRecords, getOrMakeSecret } from "./accounts/records.ts";

export interface PostgresIdentity {
  readonly identity: Identity;
  /** Whether the caller is the one who makes the first key: true for one replica, once. Rejects where the database is away. */
  claimFirstKey(): Promise<boolean>;
}

/**
 * Makes the tables where they are missing. The client is the caller's, and is closed by the caller.
 * Throws where the database does not answer, or does not let its user make tables.
 */
export const createPostgresIdentity = async (
  client: PostgresClient,
  config: Omit<IdentityConfig, "records" | "loadSigningKey">,
): Promise<PostgresIdentity> => {
  await migrate(client);
  const make = async () => JSON.stringify(await generateSigningKey());
  const identity = createIdentity({
    ...config,
    records: createKeyRecords(client),
    loadSigningKey: async () => JSON.parse(await getOrMakeSecret(client, "signing_key", make)) as JWK,
  });
  return { identity, claimFirstKey: () => claimFirstKey(client) };
};

export type { PostgresClient };
