/** Stores sessions and sign-in links of the console in memory. */
import type { SessionRecords } from "../../shared/accounts/session-record.ts";
import type { World } from "../world.ts";

export const createMemorySessions = ({ sessions, links }: World): SessionRecords => ({
  insert: async (record) => void sessions.set(record.id, record),
  withCookie: async (cookieHash) => [...sessions.values()].find((record) => record.cookieHash === cookieHash),
  find: async (account, id) => {
    const record = sessions.get(id);
    return record?.account === account ? record : undefined;
  },
  ofAccount: async (account) => [...sessions.values()].filter((record) => record.account === account),
  remove: async (account, id) => sessions.get(id)?.account === account && sessions.delete(id),
  seen: async (id, at) => {
    const record = sessions.get(id);
    if (record !== undefined) sessions.set(id, { ...record, lastSeenAt: at });
  },
  insertLink: async (record) => void links.set(record.hash, record),
  takeLink: async (hash) => {
    const link = links.get(hash);
    links.delete(hash);
    return link;
  },
  removeExpired: async (now) => {
    for (const { id, expiresAt } of [...sessions.values()]) if (expiresAt <= now) sessions.delete(id);
    for (const { hash, expiresAt } of [...links.values()]) if (expiresAt <= now) links.delete(hash);
  },
});
