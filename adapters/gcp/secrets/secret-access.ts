/** Grants an account's service identity access to the account's secrets. */
import { type Instant, plusMillis } from "../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { CallOptions, Clock } from "../../../core/ports/system.ts";
import { err, ok, type Result, ResultAsync, safeTry } from "../../../core/result.ts";
import { type CallState, isCallState } from "../../cloud/calls/provider-call.ts";
import type { SecretManager } from "./secret-manager.ts";

/** Permits reading the values: https://docs.cloud.google.com/secret-manager/docs/access-control */
const ROLE = "roles/secretmanager.secretAccessor";
/**
 * How long to retry a grant, in milliseconds. A new service account is visible to other services after "60 seconds or
 * more": iam/docs/service-accounts-create. A new secret is visible to all operations "typically [...] within minutes":
 * recent-versions.ts.
 */
const TIMEOUT_MS = 150_000;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 20_000;

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
    const end = plusMillis(clock.now(), TIMEOUT_MS);
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      const granted = await grantOnce(id, email, options);
      if (granted.isOk()) return ok(undefined);
      if (!isCallState(granted.error)) return err(granted.error);
      if (plusMillis(clock.now(), pause) > end || options.signal?.aborted === true)
        return err(
          unavailable(
            "Secret Manager has not accepted the grant for the account's service identity yet. Try again.",
            60,
            granted.error.error,
          ),
        );
      // Another call changed the policy, or the new identity or secret is not visible to Secret Manager yet.
      await clock.sleep(pause, options.signal);
    }
  };

  return {
    grant: (id: string, email: string, options: CallOptions) => new ResultAsync(grant(id, email, options)),
    /** Returns the time when this process granted access to a secret, or undefined. */
    grantedAt: (id: string): Instant | undefined => grantedAt.get(id),
  };
};
