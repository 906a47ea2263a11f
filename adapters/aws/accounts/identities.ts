/**
 * One IAM role per Portside account; the account's services run with it. Its policy grants only the account's own
 * buckets, and the stack's permissions boundary limits it.
 * https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateRole.html
 */
import type { IAMClient } from "@aws-sdk/client-iam";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import { type CallState, isCallState } from "../../shared/calls/provider-call.ts";
import { arnParts, roleArn } from "../arns.ts";
import { type AwsRuntimeDeps, awsCalls, nameOf } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import type { AwsConfig } from "../config.ts";
import { bucketPrefix } from "../volumes/names.ts";
import { bucketsPolicy, runtimeRoleOf, trustPolicy } from "./roles.ts";

const load = () => import("@aws-sdk/client-iam");
type Sdk = Awaited<ReturnType<typeof load>>;

export interface Identities {
  /** Returns the role's ARN. Creates the role and its policy if they do not exist. */
  ensure(owner: AccountId, options?: CallOptions): Promise<Result<string, Unavailable>>;
  /** Returns whether the role has access to the bucket: true only for buckets of the same account. */
  allow(bucket: string, role: string, options?: CallOptions): Promise<Result<boolean, Unavailable>>;
}

const POLICY = "own-volumes";
/**
 * How long to wait for a new role. "Changes that I make are not always immediately visible":
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot.html
 */
const PROPAGATION_MS = 60_000;
const POLL_MS = 2000;

/** Compares policies regardless of the encoding and white space of IAM's response. */
const isSame = (encoded: string | undefined, expected: object): boolean => {
  try {
    return JSON.stringify(JSON.parse(decodeURIComponent(encoded ?? ""))) === JSON.stringify(expected);
  } catch {
    return false;
  }
};

const rejected = ({ error }: CallState): Unavailable =>
  unavailable(
    nameOf(error) === "LimitExceededException"
      ? "The AWS account has reached its IAM role quota. Raise the quota or delete roles."
      : "IAM rejected the role of this account's services.",
    60,
    error,
  );

export const createIdentities = (config: AwsConfig, clients: ClientSource, runtime: AwsRuntimeDeps): Identities => {
  const call = awsCalls(runtime);
  const { clock } = runtime;
  const { permissionsBoundaryArn } = config.shared;
  const arn = arnParts(permissionsBoundaryArn);

  const send = <T>(what: string, signal: AbortSignal | undefined, act: (client: IAMClient, sdk: Sdk) => Promise<T>) =>
    call({ what: `iam.${what}`, signal }, async () => act(await clients("iam"), await load()));

  type Outcome<T> = Promise<Result<T, CallState | Unavailable>>;

  /** Converts `not_found` to undefined: IAM does not return a new role immediately. */
  const orUndefined = async <T>(found: Outcome<T>): Promise<Result<T | undefined, Unavailable>> => {
    const end = await found;
    if (end.isOk()) return ok(end.value);
    if (!isCallState(end.error)) return err(end.error);
    return end.error.code === "not_found" ? ok(undefined) : err(rejected(end.error));
  };

  const policyOf = (role: string, signal?: AbortSignal) =>
    orUndefined(
      send("GetRolePolicy", signal, async (client, { GetRolePolicyCommand }) => {
        const input = { RoleName: role, PolicyName: POLICY };
        const { PolicyDocument } = await client.send(new GetRolePolicyCommand(input));
        return PolicyDocument;
      }),
    );

  const createRole = async (
    owner: AccountId,
    role: string,
    signal?: AbortSignal,
  ): Promise<Result<void, Unavailable>> => {
    const created = await send("CreateRole", signal, (client, { CreateRoleCommand }) =>
      client.send(
        new CreateRoleCommand({
          RoleName: role,
          AssumeRolePolicyDocument: JSON.stringify(trustPolicy(arn, config)),
          PermissionsBoundary: permissionsBoundaryArn,
          Description: `Services of the account with the digest ${accountDigest(owner)} run with this role.`,
          Tags: [{ Key: "portside-owner", Value: accountDigest(owner) }],
        }),
      ),
    );
    if (created.isOk()) return ok(undefined);
    if (!isCallState(created.error)) return err(created.error);
    // Another replica may be creating the role; `putPolicyWithRetry` waits until it is visible.
    const isExisting =
      created.error.code === "exists" || nameOf(created.error.error) === "ConcurrentModificationException";
    return isExisting ? ok(undefined) : err(rejected(created.error));
  };

  /** Returns `late` while the new role is not visible. */
  const putPolicy = async (
    role: string,
    policy: object,
    signal?: AbortSignal,
  ): Promise<Result<"done" | "late", Unavailable>> => {
    const put = await send("PutRolePolicy", signal, (client, { PutRolePolicyCommand }) =>
      client.send(
        new PutRolePolicyCommand({ RoleName: role, PolicyName: POLICY, PolicyDocument: JSON.stringify(policy) }),
      ),
    );
    if (put.isOk()) return ok("done");
    if (!isCallState(put.error)) return err(put.error);
    return put.error.code === "not_found" || put.error.code === "changed" ? ok("late") : err(rejected(put.error));
  };

  /** Retries until the role has its policy; a new role may not be visible yet. */
  const putPolicyWithRetry = async (
    role: string,
    policy: object,
    signal?: AbortSignal,
  ): Promise<Result<void, Unavailable>> => {
    for (let waited = 0; ; waited += POLL_MS) {
      const done = await putPolicy(role, policy, signal);
      if (done.isErr()) return err(done.error);
      if (done.value === "done") return ok(undefined);
      if (waited >= PROPAGATION_MS || signal?.aborted === true)
        return err(unavailable("The new IAM role is not available yet. Try again.", 60));
      await clock.sleep(POLL_MS, signal);
    }
  };

  return {
    ensure: async (owner, { signal } = {}) => {
      const role = runtimeRoleOf(owner);
      const expected = bucketsPolicy(arn, owner);
      const present = await policyOf(role, signal);
      if (present.isErr()) return err(present.error);
      if (isSame(present.value, expected)) return ok(roleArn(arn, role));
      // The role may exist without this policy if the call that created it was interrupted.
      const created = present.value === undefined ? await createRole(owner, role, signal) : ok(undefined);
      if (created.isErr()) return err(created.error);
      return (await putPolicyWithRetry(role, expected, signal)).map(() => roleArn(arn, role));
    },

    allow: async (bucket, role) => {
      const digits = role.slice(role.lastIndexOf("-") + 1);
      return ok(digits !== "" && bucket.startsWith(bucketPrefix(digits)));
    },
  };
};
