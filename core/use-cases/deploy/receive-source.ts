/** Receives a source separately from its deploy, because a form may send the file before the other fields. */
import { rateLimited } from "../../errors.ts";
import { err } from "../../result.ts";
import { type Call, parsedUseCase } from "../pipeline/use-case.ts";

/**
 * Receives and validates a source archive. Succeeds even if the archive is invalid, so that the deploy can report the
 * issues of the archive and of the fields together. The caller must pass the result to `deploy`, which then owns the
 * source, or discard the source.
 */
export const receiveSource = parsedUseCase({
  run: async ({ context, principal, input: bytes, options }: Call<AsyncIterable<Uint8Array>>) => {
    const { uploads, settings, ports } = context;
    const { uploadsAtOnce: max } = settings.accountLimits;
    const received = uploads.runIfAvailable(principal.account, () => ports.provider.spool.receive(bytes, options));
    return (
      received ??
      err(rateLimited(`Your account has reached its limit of concurrent uploads (${max}). Wait until one ends.`, 5))
    );
  },
});
