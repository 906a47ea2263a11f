/**
 * Runtime identities of services: one service account per Portside account, with access to its own buckets only.
 * https://cloud.google.com/iam/docs/reference/rest/v1/projects.serviceAccounts
 */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import { isCallState } from "../../shared/calls/provider-call.ts";
import { type GoogleRuntimeDeps, googleCalls, withTimeout } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import { runtimeIdentityOf } from "./service-accounts.ts";

/** Reads, writes and lists objects: https://cloud.google.com/storage/docs/access-control/iam-roles */
const BUCKET_ROLE = "roles/storage.objectUser";

export interface Identities {
  /** Returns the e-mail address of the account's runtime identity. Creates the identity if it does not exist. */
  ensure(owner: AccountId, options?: CallOptions): Promise<Result<string, Unavailable>>;
  /** Grants an identity access to a bucket of its account. Returns false if the bucket does not exist. */
  allow(bucket: string, email: string, options?: CallOptions): Promise<Result<boolean, Unavailable>>;
}

/**
 * How long to wait for a new service account: "You might need to wait for 60 seconds or more",
 * https://cloud.google.com/iam/docs/service-accounts-create
 */
const PROPAGATION_MS = 90_000;
const POLL_MS = 2000;
const MAX_WRITES = 8;
/** Timeout of one response in milliseconds: gaxios has none by default. */
const CALL_TIMEOUT_MS = 20_000;

const requestOptions = { retry: false, timeout: CALL_TIMEOUT_MS } as const;

export const createIdentities = (project: string, clients: ClientSource, runtime: GoogleRuntimeDeps): Identities => {
  const call = googleCalls(runtime);
  const { clock } = runtime;
  const accounts = `https://iam.googleapis.com/v1/projects/${project}/serviceAccounts`;

  const get = (email: string, signal?: AbortSignal) =>
    call({ what: "iam.serviceAccounts.get", signal }, async () => {
      const auth = await clients("auth");
      return auth.request({ url: `${accounts}/${email}`, method: "GET", ...requestOptions, ...(signal && { signal }) });
    });

  const create = (owner: AccountId, email: string, signal?: AbortSignal) =>
    call({ what: "iam.serviceAccounts.create", signal }, async () => {
      const auth = await clients("auth");
      const data = {
        accountId: email.slice(0, email.indexOf("@")),
        serviceAccount: {
          displayName: "Portside runtime identity",
          description: `Services of the account with the digest ${accountDigest(owner)} run as this.`,
        },
      };
      return auth.request({ url: accounts, method: "POST", data, ...requestOptions, ...(signal && { signal }) });
    });

  /** Returns true once IAM shows the service account, false after `millis`: IAM shows a new one with a delay. */
  const waitUntilVisible = async (
    email: string,
    millis: number,
    signal?: AbortSignal,
  ): Promise<Result<boolean, Unavailable>> => {
    for (let waited = 0; ; waited += POLL_MS) {
      const seen = await get(email, signal);
      if (seen.isOk()) return ok(true);
      if (!isCallState(seen.error)) return err(seen.error);
      if (waited >= millis || signal?.aborted === true) return ok(false);
      await clock.sleep(POLL_MS, signal);
    }
  };

  const notVisible = (error?: unknown) =>
    unavailable("The new service account is not available yet. Try again.", 60, error);

  const grant = async (bucket: string, email: string, signal?: AbortSignal) => {
    const client = (await clients("storage")).bucket(bucket);
    const member = `serviceAccount:${email}`;
    const read = await call({ what: "storage.buckets.getIamPolicy", signal }, () =>
      withTimeout(client.iam.getPolicy({ requestedPolicyVersion: 3 })),
    );
    if (read.isErr()) return err(read.error);
    const [policy] = read.value;
    const bindings = policy.bindings ?? [];
    const has = bindings.some(({ role, members, condition }) => {
      return role === BUCKET_ROLE && condition === undefined && members.includes(member);
    });
    if (has) return ok(undefined);
    // The policy carries its etag, so this write cannot undo a concurrent change.
    const next = { ...policy, bindings: [...bindings, { role: BUCKET_ROLE, members: [member] }] };
    const written = await call({ what: "storage.buckets.setIamPolicy", signal }, () =>
      withTimeout(client.iam.setPolicy(next)),
    );
    return written.map(() => undefined);
  };

  return {
    ensure: async (owner, { signal } = {}) => {
      const email = runtimeIdentityOf(project, owner);
      const existing = await waitUntilVisible(email, 0, signal);
      if (existing.isErr()) return err(existing.error);
      if (existing.value) return ok(email);
      const created = await create(owner, email, signal);
      if (created.isErr() && !(isCallState(created.error) && created.error.code === "exists"))
        return err(
          isCallState(created.error)
            ? unavailable("IAM rejected the service account.", 60, created.error.error)
            : created.error,
        );
      const visible = await waitUntilVisible(email, PROPAGATION_MS, signal);
      if (visible.isErr()) return err(visible.error);
      return visible.value ? ok(email) : err(notVisible());
    },

    allow: async (bucket, email, { signal } = {}) => {
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
    },
  };
};
