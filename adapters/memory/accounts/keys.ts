/** Stores API key records in memory. */
import type { KeyRecords } from "../../shared/accounts/key-record.ts";
import type { World } from "../world.ts";

export const createMemoryKeys = (world: World): KeyRecords => ({
  insert: async (record) => void world.keys.set(record.id, record),
  withPrefix: async (prefix) => [...world.keys.values()].filter((record) => record.prefix === prefix),
  ofAccount: async (account) => [...world.keys.values()].filter((record) => record.account === account),
  remove: async (account, id) => world.keys.get(id)?.account === account && world.keys.delete(id),
  used: async (id, at) => {
    const record = world.keys.get(id);
    if (record !== undefined) world.keys.set(id, { ...record, lastUsedAt: at });
  },
});
