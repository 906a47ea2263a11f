/**
 * The key of the digests: a secret of the installation, which the first caller creates. It is not in the state bucket,
 * because a reader of the bucket, which contains the digests, could then guess short values.
 */
import { randomBytes } from "node:crypto";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, ok, type Result, type ResultAsync, safeTry } from "../../../core/result.ts";
import { type CallState, isCallState } from "../../cloud/calls/provider-call.ts";
import type { SecretsManager } from "./secrets-manager.ts";

const BYTES = 32;

const unusable = (cause: unknown): Unavailable =>
  unavailable(
    "The key of the digests of secrets is not usable. The operator can find the reason in the server's log.",
    60,
    cause,
  );

/** @param id the name of the secret with the key */
export const createSecretDigestKey = (
  manager: SecretsManager,
  id: string,
  onRejected: (error: unknown) => void,
): ((options: CallOptions) => ResultAsync<string, Unavailable>) => {
  let known: string | undefined;

  const rejected = (error: CallState | Unavailable): Result<never, Unavailable> => {
    if (!isCallState(error)) return err(error);
    onRejected(error.error);
    return err(unusable(error.error));
  };

  return (options) =>
    safeTry(async function* () {
      if (known !== undefined) return ok(known);
      const found = yield* await manager
        .read(id, options)
        .orElse((error) => (isCallState(error) && error.code === "not_found" ? ok(undefined) : rejected(error)));
      if (found !== undefined) {
        known = found;
        return ok(known);
      }
      const key = randomBytes(BYTES).toString("hex");
      const created = await manager.create(id, key, undefined, options);
      if (created.isErr() && isCallState(created.error) && created.error.code === "exists") {
        // Another server has created the key.
        known = yield* await manager.read(id, options).orElse(rejected);
        return ok(known);
      }
      if (created.isErr()) return rejected(created.error);
      known = key;
      return ok(known);
    });
};
