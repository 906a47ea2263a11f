/** Reads the log of a deployment for tests. */
import { type AccountId, parseAccount } from "../../../core/domain/accounts/account.ts";
import type { LogEntry } from "../../../core/domain/logs/entry.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import { every } from "../../contracts/log-steps.ts";
import type { TestPlatform } from "../providers/local-platform.ts";

/** All entries of a deployment, oldest first. */
export const entriesOf = async (
  { local }: Pick<TestPlatform, "local">,
  service = "app",
  account = "acme",
): Promise<readonly LogEntry[]> => {
  const scope = { owner: parseAccount(account) as AccountId, service: service as DeploymentName };
  return (await local.provider.logs.newest(scope, every()))._unsafeUnwrap().entries;
};

/** The platform's entries of a kind, such as `started` or `crashed`. */
export const eventsOf = async (
  platform: Pick<TestPlatform, "local">,
  event: string,
  service = "app",
): Promise<readonly Readonly<Record<string, unknown>>[]> =>
  (await entriesOf(platform, service)).flatMap(({ logName, json }) =>
    logName === "platform" && json?.["event"] === event ? [json] : [],
  );

/** The entries of served requests. */
export const requestsOf = async (platform: Pick<TestPlatform, "local">): Promise<readonly LogEntry[]> =>
  (await entriesOf(platform)).filter(({ logName }) => logName === "requests");
