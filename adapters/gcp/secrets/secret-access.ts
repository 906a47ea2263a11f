/** Grants an account's service identity access to the account's secrets. */
import type { Instant } from "../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { CallOptions, Clock } from "../../../core/ports/system.ts";
import { err, ok, type Result, ResultAsync, safeTry } from "../../../core/result.ts";
import { type CallState, isCallState } from "../../cloud/calls/provider-call.ts";
import type { SecretManager } from "./secret-manager.ts";

/** Permits reading the values: https://docs.cloud.google.com/secret-manager/docs/access-control */
const ROLE = "roles/secretmanager.secretAccessor";
const MAX_WRITES = 8;
/** A new service account is visible to other services after "60 seconds or more": iam/docs/service-accounts-create */
const WRITE_PAUSE_MS = 20_000;

export const createSecretAccess = (manager: SecretManager, clock: Clock) => {
  /** The time of this process's grant on each secret. */
  const grantedAt = new Map<string, Instant>();

  const grantOnce = (id: string, email: string, options: CallOptions) =>
    safeTry<void, CallState | Unavailable>(async function* () {
      const member = `serviceAccount:${email}`;
      const { bindings = [], ...policy } = yield* await manager.getPolicy(id, options);
      const isGranted = bindings.some(
        ({ role, members, condition }) => role === ROLE && condition === undefined && members?.includes(member),
      );
      if (isGranted) return ok(undefined);
      // The policy contains its etag, so this write cannot undo a concurrent change.
      yield* await manager.setPolicy(
        id,
        { ...policy, bindings: [...bindings, { role: ROLE, members: [member] }] },
        options,
      );
      grantedAt.set(id, clock.now());
      return ok(undefined);
    });

  const grant = async (id: string, email: string, options: CallOptions): Promise<Result<void, Unavailable>> => {
    for (let writes = 1; ; writes++) {
      const granted = await grantOnce(id, email, options);
      if (granted.isOk()) return ok(undefined);
      if (!isCallState(granted.error)) return err(granted.error);
      const { code, error } = granted.error;
      if (writes === MAX_WRITES || options.signal?.aborted === true)
        return err(
          unavailable("Secret Manager does not accept the account's service identity yet. Try again.", 60, error),
        );
      // Another call changed the policy, or the new identity is not visible to Secret Manager yet.
      await clock.sleep(code === "invalid" ? WRITE_PAUSE_MS : 0, options.signal);
    }
  };

  return {
    grant: (id: string, email: string, options: CallOptions) => new ResultAsync(grant(id, email, options)),
    /** Returns the time when this process granted access to a secret, or undefined. */
    grantedAt: (id: string): Instant | undefined => grantedAt.get(id),
  };
};
