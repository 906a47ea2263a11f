/** Branded names and accounts for tests, without validation. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";

export const nameOf = (text: string) => text as DeploymentName;
export const accountOf = (text: string) => text as AccountId;
