/**
 * Runtime identities of services: one service account per Portside account, with access to its own buckets only.
 * https://cloud.google.com/iam/docs/reference/rest/v1/projects.serviceAccounts
 */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, ok, type Result, ResultAsync, safeTry } from "../../../core/result.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import { type CallState, isCallState } from "../../shared/calls/provider-call.ts";
import { type GoogleRuntimeDeps, googleCalls, onState, withTimeout } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import { runtimeIdentityOf } from "./service-accounts.ts";

/** Reads, writes and lists objects: https://cloud.google.com/storage/docs/access-control/iam-roles */
const BUCKET_ROLE = "roles/storage.objectUser";

export type Identities = ReturnType<typeof createIdentities>;

/**
 * How long to wait for a new service account: "You might need to wait for 60 seconds or more",
 * https://cloud.google.com/iam/docs/service-accounts-create
 */
const PROPAGATION_MS = 90_000;
const POLL_MS = 2000;
const MAX_WRITES = 8;
/** Timeout of one response in milliseconds: gaxios has none by default. */
const CALL_TIMEOUT_MS = 20_000;

export const createIdentities = (project: string, clients: ClientSource, runtime: GoogleRuntimeDeps) => {
  const call = googleCalls(runtime);
  const { clock } = runtime;
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
        description: `Services of the account with the digest ${accountDigest(owner)} run as this.`,
      },
    };
    return request("iam.serviceAccounts.create", signal, { url: accounts, method: "POST", data });
  };

  /** Returns true once IAM shows the service account, false after `millis`: IAM shows a new one with a delay. */
  const waitUntilVisible = async (
    email: string,
    millis: number,
    signal?: AbortSignal,
  ): Promise<Result<boolean, Unavailable>> => {
    for (let waited = 0; ; waited += POLL_MS) {
      const options = { url: `${accounts}/${email}`, method: "GET" } as const;
      const seen = await request("iam.serviceAccounts.get", signal, options);
      if (seen.isOk()) return ok(true);
      if (!isCallState(seen.error)) return err(seen.error);
      if (waited >= millis || signal?.aborted === true) return ok(false);
      await clock.sleep(POLL_MS, signal);
    }
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
      // The policy carries its etag, so this write cannot undo a concurrent change.
      const next = { ...policy, bindings: [...bindings, { role: BUCKET_ROLE, members: [member] }] };
      const written = await call({ what: "storage.buckets.setIamPolicy", signal }, () =>
        withTimeout(iam.setPolicy(next)),
      );
      return written.map(() => undefined);
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
      // Another call changed the policy, or the identity is too new for it.
      await clock.sleep(code === "invalid" ? PROPAGATION_MS / MAX_WRITES : 0, signal);
    }
  };

  return {
    /** Returns the e-mail address of the account's runtime identity. Creates the identity if it does not exist. */
    ensure: (owner: AccountId, { signal }: CallOptions = {}): ResultAsync<string, Unavailable> =>
      safeTry(async function* () {
        const email = runtimeIdentityOf(project, owner);
        if (yield* await waitUntilVisible(email, 0, signal)) return ok(email);
        const created = (await create(owner, email, signal)).orElse(onState("exists", undefined));
        yield* created.mapErr((error) =>
          isCallState(error) ? unavailable("IAM rejected the service account.", 60, error.error) : error,
        );
        return (yield* await waitUntilVisible(email, PROPAGATION_MS, signal)) ? ok(email) : err(notVisible());
      }),

    /** Grants an identity access to a bucket of its account. Returns false if the bucket does not exist. */
    allow: (bucket: string, email: string, { signal }: CallOptions = {}): ResultAsync<boolean, Unavailable> =>
      new ResultAsync(grantUntilApplied(bucket, email, signal)),
  };
};
