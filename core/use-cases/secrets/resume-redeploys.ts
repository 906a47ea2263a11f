/** Starts the redeploys for changed secrets that an earlier process did not finish. */
import { platformAuthor } from "../../domain/deploy/releases/release.ts";
import type { PendingRedeploys } from "../../domain/secrets/redeploys.ts";
import type { ControlPlaneError } from "../../errors.ts";
import type { SecretStore } from "../../ports/secret-store.ts";
import type { CallOptions } from "../../ports/system.ts";
import { ok, Result, safeTry } from "../../result.ts";
import { catchBugs } from "../pipeline/catch-bugs.ts";
import type { Context } from "../pipeline/context.ts";
import type { Caller } from "../pipeline/use-case.ts";
import { redeployBehind } from "./redeploy-behind.ts";

/** The platform acts on behalf of the account. The releases name the platform as their author. */
const callerFor = (context: Context, { owner }: PendingRedeploys, options: CallOptions): Caller => ({
  context,
  principal: { account: owner, credentialId: "platform" },
  options,
});

/** Returns the number of redeploys that were started for a record. Removes the record if no redeploy was started. */
const resumeOne = (context: Context, store: SecretStore, pending: PendingRedeploys, options: CallOptions) =>
  safeTry<number, ControlPlaneError>(async function* () {
    const caller = callerFor(context, pending, options);
    const deploys = yield* await redeployBehind(caller, store, pending, { createdBy: platformAuthor });
    if (deploys.length === 0) yield* await store.endRedeploys(pending, options);
    return ok(deploys.length);
  });

/**
 * Returns the number of redeploys that were started. If the redeploys of a record cannot be started, starts those of
 * the other records, and then fails.
 */
export const resumeRedeploys = (
  context: Context,
  options: CallOptions = {},
): Promise<Result<number, ControlPlaneError>> =>
  catchBugs(() =>
    safeTry<number, ControlPlaneError>(async function* () {
      const { secrets } = context.ports.provider;
      if (secrets === undefined) return ok(0);
      const resumed: Result<number, ControlPlaneError>[] = [];
      for (const pending of yield* await secrets.pendingRedeploys(options))
        resumed.push(await catchBugs(() => resumeOne(context, secrets, pending, options)));
      return Result.combine(resumed).map((started) => started.reduce((sum, count) => sum + count, 0));
    }),
  );
