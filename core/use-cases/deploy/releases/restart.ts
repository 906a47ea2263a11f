/** The use cases that restart a deployment and change its variables: redeploys of the release that serves. */

import { aliasIssues } from "../../../domain/deploy/environment.ts";
import {
  changeEnvironment,
  describeEnvironmentChange,
  environmentChangeIssues,
} from "../../../domain/deploy/releases/change-environment.ts";
import { declaredVariables } from "../../../domain/deploy/releases/rollback.ts";
import type { DeploymentName } from "../../../domain/wire/names.ts";
import { restartFields, setEnvironmentFields } from "../../../domain/wire/requests.ts";
import { type ControlPlaneError, conflict, invalidInput } from "../../../errors.ts";
import { err, ok, safeTry } from "../../../result.ts";
import { useCase } from "../../pipeline/use-case.ts";
import { ownService } from "../find-name.ts";
import { prepareRedeploy, type Redeploy, startRedeploy } from "./redeploy.ts";

/** Chooses the newest release, which serves. A different release may be the newest when the redeploy starts. */
export const servingRelease = (name: DeploymentName): Redeploy => ({
  name,
  choose: ([newest]) =>
    newest === undefined
      ? err(conflict(`No release of the deployment '${name}' is serving. Deploy it first with 'portside deploy'.`))
      : ok(newest),
});

/** Replaces the instances of a deployment. The new instances belong to a new release with the same content. */
export const restartDeployment = useCase({
  fields: restartFields,
  requires: ({ releases }) => releases,
  authorize: (call) => ownService(call, call.input.name),
  run: (call) =>
    safeTry(async function* () {
      const { name } = call.input;
      const redeploy = servingRelease(name);
      yield* await prepareRedeploy(call, redeploy);
      return startRedeploy(call, redeploy, {
        message: "Restart",
        rolledBackTo: null,
        first: `Restarting '${name}'`,
        began: "A restart began",
      });
    }),
});

/** Reports the issues of `env` under `set`, because the request has no field `env`. */
const inFieldSet = (error: ControlPlaneError): ControlPlaneError =>
  error.kind === "invalid_input"
    ? invalidInput(
        error.issues.map((one) => (one.path[0] === "env" ? { ...one, path: ["set", ...one.path.slice(1)] } : one)),
      )
    : error;

/** Sets and removes variables of a deployment. The other variables keep their values. */
export const setEnvironment = useCase({
  fields: setEnvironmentFields,
  check: ({ set, unset }, { settings }, raw) => {
    const aliases = aliasIssues(raw["set"], settings.envAliases, "set");
    // An invalid field already has an issue.
    const across = set === undefined || unset === undefined ? [] : environmentChangeIssues({ set, unset });
    const issues = [...aliases, ...across];
    return issues.length > 0 ? err(issues) : ok({});
  },
  requires: ({ releases }) => releases,
  authorize: (call) => ownService(call, call.input.name),
  run: (call) =>
    safeTry(async function* () {
      const { name, set, unset } = call.input;
      const redeploy: Redeploy = {
        ...servingRelease(name),
        change: (release) => changeEnvironment(declaredVariables(release), { set, unset }),
      };
      yield* (await prepareRedeploy(call, redeploy)).mapErr(inFieldSet);
      return startRedeploy(call, redeploy, {
        message: describeEnvironmentChange({ set, unset }),
        rolledBackTo: null,
        first: `Changing the variables of '${name}'`,
        began: "A change of variables began",
      });
    }),
});
