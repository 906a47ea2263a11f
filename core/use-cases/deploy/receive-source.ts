/** Receiving a source before the deploy that names it: a form's file may come before its fields. */
import type { Principal } from "../../domain/accounts/account.ts";
import { type ControlPlaneError, rateLimited } from "../../errors.ts";
import type { ReceivedSource } from "../../ports/source-spool.ts";
import type { CallOptions } from "../../ports/system.ts";
import { errAsync, type ResultAsync } from "../../result.ts";
import type { Context } from "../pipeline/context.ts";

/**
 * Receives and walks a source archive. A refused one is an answer, so that its issues can be reported together with
 * those of the fields. Pass the answer to `deploy`, which then owns it, or discard it.
 */
export const receiveSource = (
  context: Context,
  principal: Principal,
  bytes: AsyncIterable<Uint8Array>,
  options: CallOptions = {},
): ResultAsync<ReceivedSource, ControlPlaneError> => {
  const { uploads, settings, ports } = context;
  if (!uploads.isAvailable(principal.account))
    return errAsync(
      rateLimited(
        `Your account may send ${settings.accountLimits.uploadsAtOnce} sources at once; wait for one to end.`,
        5,
      ),
    );
  const permit = uploads.acquire(principal.account);
  return ports.provider.spool
    .receive(bytes, options)
    .andTee(() => permit.release())
    .orTee(() => permit.release());
};
