/** The setting in the state that lists the unfinished redeploys for new values of secrets. Pure functions. */
import { z } from "zod";
import { type AccountId, isAccount } from "../../../core/domain/accounts/account.ts";
import type { PendingRedeploys } from "../../../core/domain/secrets/redeploys.ts";
import type { SecretName } from "../../../core/domain/wire/names.ts";

/** The name of the setting. */
export const REDEPLOYS = "secret_redeploys";

const schema = z.array(
  z.object({
    owner: z.custom<AccountId>(isAccount),
    name: z.string().transform((name) => name as SecretName),
    version: z.int().min(1),
  }),
);

/** Throws if the text was not written by `renderPending`. */
export const parsePending = (text = "[]"): readonly PendingRedeploys[] => schema.parse(JSON.parse(text));

export const renderPending = (pending: readonly PendingRedeploys[]): string => JSON.stringify(pending);
