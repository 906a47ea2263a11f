/** The use cases that plan and start a rollback: a redeploy of an earlier release. */
import type { z } from "zod";
import type { StoredRelease } from "../../../domain/deploy/releases/release.ts";
import { defaultRollbackTarget, describeRollback } from "../../../domain/deploy/releases/rollback.ts";
import type { DeploymentName } from "../../../domain/wire/names.ts";
import { rollbackFields, rollbackPlanFields } from "../../../domain/wire/requests.ts";
import type { rollbackPlanSchema } from "../../../domain/wire/responses.ts";
import { type ControlPlaneError, conflict } from "../../../errors.ts";
import { err, ok, type Result, safeTry } from "../../../result.ts";
import { useCase } from "../../pipeline/use-case.ts";
import { ownService } from "../find-name.ts";
import { planResponseOf } from "../plan.ts";
import { noRelease } from "./find-releases.ts";
import { prepareRedeploy, type Redeploy, startRedeploy } from "./redeploy.ts";

/** The response of a rollback's plan. */
export type RollbackPlanResponse = z.output<typeof rollbackPlanSchema>;

/** @param number the release to restore; null or undefined for the default */
const chooseTarget = (
  name: DeploymentName,
  releases: readonly StoredRelease[],
  number: number | null | undefined,
): Result<StoredRelease, ControlPlaneError> => {
  if (number == null) {
    const target = defaultRollbackTarget(releases);
    return target === undefined
      ? err(
          conflict(
            `The deployment '${name}' has no earlier release to restore. To restore a release again, pass its number.`,
          ),
        )
      : ok(target);
  }
  const target = releases.find(({ release }) => release === number);
  return target === undefined ? err(noRelease(name, number)) : ok(target);
};

const rollbackTo = (name: DeploymentName, number: number | null | undefined): Redeploy => ({
  name,
  choose: (releases) => chooseTarget(name, releases, number),
  describe: describeRollback,
});

/** Plans a rollback without running it. */
export const planRollback = useCase({
  fields: rollbackPlanFields,
  requires: ({ releases }) => releases,
  authorize: (call) => ownService(call, call.input.name),
  run: async (call) => {
    const prepared = await prepareRedeploy(call, rollbackTo(call.input.name, call.input.release));
    return prepared.map(({ target, plan, notes }): RollbackPlanResponse => {
      const response = planResponseOf(call.context, plan);
      const summary = [`Roll back to release ${target.release}`, ...response.summary, ...notes];
      return { ...response, summary, release: target.release };
    });
  },
});

/** Starts a rollback. */
export const rollback = useCase({
  fields: rollbackFields,
  requires: ({ releases }) => releases,
  authorize: (call) => ownService(call, call.input.name),
  run: (call) =>
    safeTry(async function* () {
      const { name, release: number, message = null } = call.input;
      const { target } = yield* await prepareRedeploy(call, rollbackTo(name, number));
      // The default target may change while the rollback waits for its turn, so fix the number now.
      const { release } = target;
      return startRedeploy(call, rollbackTo(name, release), {
        message,
        rolledBackTo: release,
        first: `Rolling back '${name}' to release ${release}`,
        began: "A rollback began",
      });
    }),
});
