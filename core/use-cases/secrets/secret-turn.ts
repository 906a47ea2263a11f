/** Serializes the changes to an account's secrets, and the checks that such a change must not interrupt. */
import type { AccountId } from "../../domain/accounts/account.ts";
import type { Context } from "../pipeline/context.ts";

/** Runs `work` when no other work of the account runs. */
export const inSecretTurn = async <T>(
  { secrets }: Pick<Context, "secrets">,
  account: AccountId,
  work: () => PromiseLike<T>,
): Promise<T> => {
  const permit = secrets.acquire(account);
  try {
    await permit.whenGranted;
    return await work();
  } finally {
    permit.release();
  }
};
