/**
 * Who services run as: one IAM role for each account of ours, with rights on its own buckets and nothing else, within
 * the bounds of the stack's policy. https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateRole.html
 */
import type { IAMClient } from "@aws-sdk/client-iam";
import type { AccountId } from "../../core/domain/account.ts";
import { type Unavailable, unavailable } from "../../core/errors.ts";
import type { CallOptions } from "../../core/ports/system.ts";
import { err, ok, type Result } from "../../core/result.ts";
import { accountDigest } from "../shared/account-digest.ts";
import { type CallState, isCallState } from "../shared/provider-call.ts";
import { type AwsAmbient, awsCalls, nameOf } from "./amazon.ts";
import { arnParts, roleArn } from "./arns.ts";
import type { ClientSource } from "./clients.ts";
import type { AwsConfig } from "./config.ts";
import { bucketsPolicy, runtimeRoleOf, trustPolicy } from "./roles.ts";
import { bucketPrefix } from "./storage/names.ts";

const load = () => import("@aws-sdk/client-iam");
type Sdk = Awaited<ReturnType<typeof load>>;

export interface Identities {
  /** The account's runtime identity, made where there is none, with its rights: the role's ARN. */
  ensure(owner: AccountId, options?: CallOptions): Promise<Result<string, Unavailable>>;
  /**
   * Whether the identity has its rights on the bucket: on those of its own account it has them all along, and on others
   * never.
   */
  allow(bucket: string, role: string, options?: CallOptions): Promise<Result<boolean, Unavailable>>;
}

const POLICY = "own-volumes";
/** "Changes that I make are not always immediately visible": .../IAM/latest/UserGuide/troubleshoot.html */
const NEW_MS = 60_000;
const LOOK_MS = 2000;

/** The same rules, in whatever order and white space IAM gives them back. */
const isSame = (encoded: string | undefined, wanted: object): boolean => {
  try {
    return JSON.stringify(JSON.parse(decodeURIComponent(encoded ?? ""))) === JSON.stringify(wanted);
  } catch {
    return false;
  }
};

const refusal = ({ error }: CallState): Unavailable =>
  unavailable(
    nameOf(error) === "LimitExceededException"
      ? "Amazon Web Services makes no more roles for this platform: look at IAM's quotas."
      : "IAM refuses the role of this account's services.",
    60,
    error,
  );

export const createIdentities = (config: AwsConfig, clients: ClientSource, ambient: AwsAmbient): Identities => {
  const call = awsCalls(ambient);
  const { clock } = ambient;
  const { permissionsBoundaryArn } = config.shared;
  const arn = arnParts(permissionsBoundaryArn);

  const send = <T>(what: string, signal: AbortSignal | undefined, act: (client: IAMClient, sdk: Sdk) => Promise<T>) =>
    call({ what: `iam.${what}`, signal }, async () => act(await clients("iam"), await load()));

  type Outcome<T> = Promise<Result<T, CallState | Unavailable>>;

  /** Undefined: IAM does not show it. */
  const unlessMissing = async <T>(found: Outcome<T>): Promise<Result<T | undefined, Unavailable>> => {
    const end = await found;
    if (end.isOk()) return ok(end.value);
    if (!isCallState(end.error)) return err(end.error);
    return end.error.code === "not_found" ? ok(undefined) : err(refusal(end.error));
  };

  const policyOf = (role: string, signal?: AbortSignal) =>
    unlessMissing(
      send("GetRolePolicy", signal, async (client, { GetRolePolicyCommand }) => {
        const input = { RoleName: role, PolicyName: POLICY };
        const { PolicyDocument } = await client.send(new GetRolePolicyCommand(input));
        return PolicyDocument;
      }),
    );

  const make = async (owner: AccountId, role: string, signal?: AbortSignal): Promise<Result<void, Unavailable>> => {
    const made = await send("CreateRole", signal, (client, { CreateRoleCommand }) =>
      client.send(
        new CreateRoleCommand({
          RoleName: role,
          AssumeRolePolicyDocument: JSON.stringify(trustPolicy(arn, config)),
          PermissionsBoundary: permissionsBoundaryArn,
          Description: `Services of the account with the digest ${accountDigest(owner)} run as this.`,
          Tags: [{ Key: "portside-owner", Value: accountDigest(owner) }],
        }),
      ),
    );
    if (made.isOk()) return ok(undefined);
    if (!isCallState(made.error)) return err(made.error);
    // Also where another replica makes it at this moment: its rights are waited for until it shows.
    const isMade = made.error.code === "exists" || nameOf(made.error.error) === "ConcurrentModificationException";
    return isMade ? ok(undefined) : err(refusal(made.error));
  };

  /** `late`: a role that is new does not show yet. */
  const permit = async (
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
    return put.error.code === "not_found" || put.error.code === "changed" ? ok("late") : err(refusal(put.error));
  };

  /** Ends when the role, which may be new, has its rights. */
  const permitted = async (role: string, policy: object, signal?: AbortSignal): Promise<Result<void, Unavailable>> => {
    for (let waited = 0; ; waited += LOOK_MS) {
      const done = await permit(role, policy, signal);
      if (done.isErr()) return err(done.error);
      if (done.value === "done") return ok(undefined);
      if (waited >= NEW_MS || signal?.aborted === true)
        return err(unavailable("Amazon Web Services is slow to show a new role.", 60));
      await clock.sleep(LOOK_MS, signal);
    }
  };

  return {
    ensure: async (owner, { signal } = {}) => {
      const role = runtimeRoleOf(owner);
      const wanted = bucketsPolicy(arn, owner);
      const present = await policyOf(role, signal);
      if (present.isErr()) return err(present.error);
      if (isSame(present.value, wanted)) return ok(roleArn(arn, role));
      // Also where it is there with other rights, or none: the call that made it was cut.
      const made = present.value === undefined ? await make(owner, role, signal) : ok(undefined);
      if (made.isErr()) return err(made.error);
      return (await permitted(role, wanted, signal)).map(() => roleArn(arn, role));
    },

    allow: async (bucket, role) => {
      const digits = role.slice(role.lastIndexOf("-") + 1);
      return ok(digits !== "" && bucket.startsWith(bucketPrefix(digits)));
    },
  };
};
