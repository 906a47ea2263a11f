/** Names and accounts of tests, without the rules that real ones keep. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";

export const nameOf = (text: string) => text as DeploymentName;
export const accountOf = (text: string) => text as AccountId;
