/**
 * Runtime identities of services: one service account per Portside account, which may access only that account's
 * buckets.
 * https://cloud.google.com/iam/docs/reference/rest/v1/projects.serviceAccounts
 */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { Instant } from "../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, ok, type Result, ResultAsync, safeTry } from "../../../core/result.ts";
import { type CallState, isCallState } from "../../cloud/calls/provider-call.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import { untilAborted } from "../../shared/calls/until-aborted.ts";
import { codeOf, type GoogleRuntimeDeps, googleCalls, withTimeout } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import { runtimeIdentityOf } from "./service-accounts.ts";

/**
 * Permits reading, writing, listing and deleting objects:
 * https://cloud.google.com/storage/docs/access-control/iam-roles
 */
const BUCKET_ROLE = "roles/storage.objectUser";

const FORBIDDEN = 403;

export type Identities = ReturnType<typeof createIdentities>;

/**
 * Maximum time until a new service account is visible to other services: "You might need to wait for 60 seconds or
 * more", https://cloud.google.com/iam/docs/service-accounts-create. Users reported two minutes.
 */
const PROPAGATION_MS = 150_000;
const POLL_MS = 2000;
/**
 * Consecutive reads that must find a new service account, because a read may miss the account even after an earlier
 * read found it. Terraform's provider requires the same number:
 * https://github.com/hashicorp/terraform-provider-google, resource_google_service_account.go.
 */
const AGREEING_READS = 3;
const MAX_WRITES = 8;
const WRITE_PAUSE_MS = 20_000;
/** Timeout of one response in milliseconds. By default, gaxios has no timeout. */
const CALL_TIMEOUT_MS = 20_000;

export const createIdentities = (project: string, clients: ClientSource, runtime: GoogleRuntimeDeps) => {
  const call = googleCalls(runtime);
  const { clock } = runtime;
  const closing = new AbortController();
  /** The time of this process's last grant on each bucket. */
  const grantedAt = new Map<string, Instant>();
  const accounts = `https://iam.googleapis.com/v1/projects/${project}/serviceAccounts`;

  const request = (
    what: string,
    signal: AbortSignal | undefined,
    options: { readonly url: string; readonly method: "GET" | "POST"; readonly data?: object },
  ) =>
    call({ what, signal }, async () => {
      const auth = await clients("auth");
      return auth.request({ ...options, retry: false, timeout: CALL_TIMEOUT_MS, ...(signal && { signal }) });
    });

  const create = (owner: AccountId, email: string, signal?: AbortSignal) => {
    const data = {
      accountId: email.slice(0, email.indexOf("@")),
      serviceAccount: {
        displayName: "Portside runtime identity",
        description: `Runs the services of the account with the digest ${accountDigest(owner)}.`,
      },
    };
    return request("iam.serviceAccounts.create", signal, { url: accounts, method: "POST", data });
  };

  /**
   * Returns whether IAM finds the service account. If it does not exist, IAM responds with 404 or 403:
   * https://github.com/hashicorp/terraform-provider-google, resource_google_service_account.go.
   */
  const isVisible = async (email: string, signal?: AbortSignal): Promise<Result<boolean, Unavailable>> => {
    const seen = await request("iam.serviceAccounts.get", signal, { url: `${accounts}/${email}`, method: "GET" });
    if (seen.isOk()) return ok(true);
    if (isCallState(seen.error) || codeOf(seen.error.cause) === FORBIDDEN) return ok(false);
    return err(seen.error);
  };

  /** Waits until IAM finds the new service account reliably. Returns false after `PROPAGATION_MS` or an abort. */
  const waitUntilVisible = async (email: string, signal?: AbortSignal): Promise<Result<boolean, Unavailable>> => {
    for (let waited = 0, agreed = 0; waited <= PROPAGATION_MS; waited += POLL_MS) {
      const seen = await isVisible(email, signal);
      if (seen.isErr()) return seen;
      agreed = seen.value ? agreed + 1 : 0;
      if (agreed === AGREEING_READS) return ok(true);
      if (signal?.aborted === true) break;
      await clock.sleep(POLL_MS, signal);
    }
    return ok(false);
  };

  const notVisible = (error?: unknown) =>
    unavailable("The new service account is not available yet. Try again.", 60, error);

  const grant = (bucket: string, email: string, signal?: AbortSignal): ResultAsync<void, CallState | Unavailable> =>
    safeTry(async function* () {
      const { iam } = (await clients("storage")).bucket(bucket);
      const member = `serviceAccount:${email}`;
      const [policy] = yield* await call({ what: "storage.buckets.getIamPolicy", signal }, () =>
        withTimeout(iam.getPolicy({ requestedPolicyVersion: 3 })),
      );
      const bindings = policy.bindings ?? [];
      const isGranted = bindings.some(
        ({ role, members, condition }) => role === BUCKET_ROLE && condition === undefined && members.includes(member),
      );
      if (isGranted) return ok(undefined);
      // The policy contains its etag, so this write cannot undo a concurrent change.
      const next = { ...policy, bindings: [...bindings, { role: BUCKET_ROLE, members: [member] }] };
      yield* await call({ what: "storage.buckets.setIamPolicy", signal }, () => withTimeout(iam.setPolicy(next)));
      grantedAt.set(bucket, clock.now());
      return ok(undefined);
    });

  const grantUntilApplied = async (
    bucket: string,
    email: string,
    signal?: AbortSignal,
  ): Promise<Result<boolean, Unavailable>> => {
    for (let writes = 1; ; writes++) {
      const granted = await grant(bucket, email, signal);
      if (granted.isOk()) return ok(true);
      if (!isCallState(granted.error)) return err(granted.error);
      const { code, error } = granted.error;
      if (code === "not_found") return ok(false);
      if (writes === MAX_WRITES || signal?.aborted === true) return err(notVisible(error));
      // Another call changed the policy, or the new identity is not visible to Cloud Storage yet.
      await clock.sleep(code === "invalid" ? WRITE_PAUSE_MS : 0, signal);
    }
  };

  const ensure = (owner: AccountId, signal: AbortSignal): ResultAsync<string, Unavailable> =>
    safeTry(async function* () {
      const email = runtimeIdentityOf(project, owner);
      if (yield* await isVisible(email, signal)) return ok(email);
      const created = await create(owner, email, signal);
      // Another process created the identity. If it is not visible to Cloud Run yet, the rollout waits.
      if (created.isErr() && isCallState(created.error) && created.error.code === "exists") return ok(email);
      yield* created.mapErr((error) =>
        isCallState(error)
          ? unavailable(
              "IAM did not create a service account for this account's services. The operator can find the reason in the server's log.",
              60,
              error.error,
            )
          : error,
      );
      return (yield* await waitUntilVisible(email, signal)) ? ok(email) : err(notVisible());
    });

  /** The creations that are in progress, by account. A build and its rollout share one creation. */
  const running = new Map<AccountId, Promise<Result<string, Unavailable>>>();

  return {
    /**
     * Returns the e-mail address of the account's runtime identity. Creates the identity if it does not exist. An abort
     * ends only the wait of this call, not the creation.
     */
    ensure: (owner: AccountId, { signal }: CallOptions = {}): ResultAsync<string, Unavailable> => {
      const work =
        running.get(owner) ?? Promise.resolve(ensure(owner, closing.signal)).finally(() => running.delete(owner));
      running.set(owner, work);
      return untilAborted(work, signal, notVisible());
    },

    /** Returns the time when this process last granted access to a bucket, or undefined. */
    grantedAt: (bucket: string): Instant | undefined => grantedAt.get(bucket),

    /** Aborts the creation of identities, and the grants of calls without a signal. */
    close: () => closing.abort(),

    /** Grants an identity access to a bucket of its account. Returns false if the bucket does not exist. */
    allow: (bucket: string, email: string, { signal }: CallOptions = {}): ResultAsync<boolean, Unavailable> =>
      new ResultAsync(grantUntilApplied(bucket, email, signal ?? closing.signal)),
  };
};
