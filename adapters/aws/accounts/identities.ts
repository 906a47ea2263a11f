/**
 * Creates the IAM roles of Portside accounts. An account's services run with one role, whose policy grants access only
 * to the account's own buckets. For services with secrets, ECS uses a second role to start them. The stack's
 * permissions boundary limits both roles. https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateRole.html
 */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { millisOf } from "../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, ok, type Result, type ResultAsync, safeTry } from "../../../core/result.ts";
import { type CallState, isCallState } from "../../cloud/calls/provider-call.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import { arnParts, roleArn } from "../arns.ts";
import { type AwsRuntimeDeps, awsCalls, commandSender, missingAsOk, nameOf } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import type { AwsConfig } from "../config.ts";
import { bucketPrefix } from "../volumes/names.ts";
import {
  bucketsPolicy,
  executionPolicy,
  executionRoleOf,
  executionTrustPolicy,
  runtimeRoleOf,
  trustPolicy,
} from "./roles.ts";

export interface Identities {
  /** Returns the ARN of the services' role. Creates the role and its policy if they do not exist. */
  ensure(owner: AccountId, options?: CallOptions): Promise<Result<string, Unavailable>>;
  /** Like `ensure`, for the role that may read the account's secrets. */
  ensureExecution(owner: AccountId, options?: CallOptions): Promise<Result<string, Unavailable>>;
  /**
   * Returns true if this process created the role, or completed its creation, within the last minute. Some AWS services
   * may not see the role yet.
   */
  isNew(role: string): boolean;
  /** Returns whether the role has access to the bucket: true only for buckets of the same account. */
  allow(bucket: string, role: string, options?: CallOptions): Promise<Result<boolean, Unavailable>>;
}

/** A role of an account, with its only inline policy. */
interface AccountRole {
  readonly owner: AccountId;
  readonly name: string;
  readonly trust: object;
  readonly policyName: string;
  readonly policy: object;
  readonly description: string;
}

/**
 * How long a new role may be invisible to other calls, in milliseconds. "Changes that I make are not always immediately
 * visible": https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot.html
 */
const PROPAGATION_MS = 60_000;
const POLL_MS = 2000;

/** Compares policies. Ignores the encoding and white space of IAM's response. */
const isSame = (encoded: string | undefined, expected: object): boolean => {
  try {
    return JSON.stringify(JSON.parse(decodeURIComponent(encoded ?? ""))) === JSON.stringify(expected);
  } catch {
    return false;
  }
};

const toUnavailable = (error: CallState | Unavailable): Unavailable => {
  if (!isCallState(error)) return error;
  const message =
    nameOf(error.error) === "LimitExceededException"
      ? "The AWS account has reached its IAM role quota. Raise the quota or delete roles."
      : "IAM rejected a request about a role of this account. The operator can find the reason in the server's log.";
  return unavailable(message, 60, error.error);
};

export const createIdentities = (
  config: Pick<AwsConfig, "region" | "shared">,
  clients: ClientSource,
  runtime: AwsRuntimeDeps,
): Identities => {
  const { clock } = runtime;
  const { permissionsBoundaryArn } = config.shared;
  const arn = arnParts(permissionsBoundaryArn);
  /** When this process created a role, in milliseconds, by the role's ARN. */
  const createdAt = new Map<string, number>();

  const send = commandSender("iam", "iam", clients, awsCalls(runtime), { abortRequests: false });

  /** Returns undefined if the policy does not exist or is not visible yet. */
  const policyOf = (
    { name, policyName }: AccountRole,
    signal: AbortSignal | undefined,
  ): ResultAsync<string | undefined, Unavailable> =>
    send("GetRolePolicyCommand", { RoleName: name, PolicyName: policyName }, { signal })
      .map(({ PolicyDocument }) => PolicyDocument)
      .orElse(missingAsOk)
      .mapErr(toUnavailable);

  const createRole = (
    { owner, name, trust, description }: AccountRole,
    signal: AbortSignal | undefined,
  ): ResultAsync<void, Unavailable> => {
    const input = {
      RoleName: name,
      AssumeRolePolicyDocument: JSON.stringify(trust),
      PermissionsBoundary: permissionsBoundaryArn,
      Description: description,
      Tags: [{ Key: "portside-owner", Value: accountDigest(owner) }],
    };
    return send("CreateRoleCommand", input, { signal })
      .map(() => undefined)
      .orElse((error) => {
        // Another replica may be creating the role; `putPolicyWithRetry` waits until it is visible.
        const isExisting =
          isCallState(error) && (error.code === "exists" || nameOf(error.error) === "ConcurrentModificationException");
        return isExisting ? ok(undefined) : err(toUnavailable(error));
      });
  };

  /** Returns `late` while the new role is not visible, or if another call is changing the role. */
  const putPolicy = (
    { name, policyName, policy }: AccountRole,
    signal: AbortSignal | undefined,
  ): ResultAsync<"done" | "late", Unavailable> => {
    const input = { RoleName: name, PolicyName: policyName, PolicyDocument: JSON.stringify(policy) };
    return send("PutRolePolicyCommand", input, { signal })
      .map(() => "done" as const)
      .orElse((error): Result<"late", Unavailable> => {
        const isLate = isCallState(error) && (error.code === "not_found" || error.code === "changed");
        return isLate ? ok("late") : err(toUnavailable(error));
      });
  };

  /** Retries until the role has its policy; a new role may not be visible yet. */
  const putPolicyWithRetry = (role: AccountRole, signal: AbortSignal | undefined): ResultAsync<void, Unavailable> =>
    safeTry(async function* () {
      for (let waited = 0; ; waited += POLL_MS) {
        const put = yield* await putPolicy(role, signal);
        if (put === "done") return ok(undefined);
        if (waited >= PROPAGATION_MS || signal?.aborted === true)
          return err(unavailable("The new IAM role is not available yet. Try again.", 60));
        await clock.sleep(POLL_MS, signal);
      }
    });

  const ensureRole = (role: AccountRole, { signal }: CallOptions): ResultAsync<string, Unavailable> =>
    safeTry(async function* () {
      const present = yield* await policyOf(role, signal);
      if (!isSame(present, role.policy)) {
        // The role may exist without this policy if the call that created it was interrupted.
        if (present === undefined) {
          yield* await createRole(role, signal);
          createdAt.set(roleArn(arn, role.name), millisOf(clock.now()));
        }
        yield* await putPolicyWithRetry(role, signal);
      }
      return ok(roleArn(arn, role.name));
    });

  return {
    ensure: async (owner, options = {}) => {
      const description = `Services of the account with the digest ${accountDigest(owner)} run with this role.`;
      const name = runtimeRoleOf(owner);
      const trust = trustPolicy(arn, config);
      const policy = bucketsPolicy(arn, owner);
      return ensureRole({ owner, name, trust, policyName: "own-volumes", policy, description }, options);
    },

    ensureExecution: async (owner, options = {}) => {
      const description = `ECS uses this role to start services with secrets, for the account with the digest ${accountDigest(owner)}.`;
      const name = executionRoleOf(config, owner);
      const policy = executionPolicy(arn, config, owner);
      const trust = executionTrustPolicy(arn);
      return ensureRole({ owner, name, trust, policyName: "start-tasks", policy, description }, options);
    },

    isNew: (role) => millisOf(clock.now()) - (createdAt.get(role) ?? Number.NEGATIVE_INFINITY) < PROPAGATION_MS,

    allow: async (bucket, role) => {
      const digits = role.slice(role.lastIndexOf("-") + 1);
      return ok(digits !== "" && bucket.startsWith(bucketPrefix(digits)));
    },
  };
};
