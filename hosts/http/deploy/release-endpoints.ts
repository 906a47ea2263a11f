/** Releases: list and compare them, roll back to a release, and redeploy the serving release. */
import { deployEventSchema } from "../../../core/domain/deploy/events.ts";
import { releaseDiffSchema } from "../../../core/domain/deploy/releases/diff.ts";
import { releasePageSchema } from "../../../core/domain/deploy/releases/release.ts";
import {
  releaseDiffFields,
  releasesFields,
  restartFields,
  rollbackFields,
  rollbackPlanFields,
  setEnvironmentFields,
} from "../../../core/domain/wire/requests.ts";
import { rollbackPlanSchema } from "../../../core/domain/wire/responses.ts";
import { get, post, redeploy } from "../endpoint.ts";

export const releaseEndpoints = [
  get("/v1/deployment/releases", {
    operation: "listReleases",
    summary: "List the releases of a deployment, newest first.",
    description:
      "A release is the record of a rollout that received traffic. The platform keeps the images of the " +
      "latest releases; an older release is `pruned`. Deleting the deployment deletes its releases.",
    fields: releasesFields,
    response: releasePageSchema,
    run: (controlPlane, principal, request, options) => controlPlane.listReleases(principal, request, options),
  }),
  get("/v1/deployment/release-diff", {
    operation: "compareReleases",
    summary: "Compare two releases of a deployment.",
    description: "Returns the fields that differ, with the variables that were added, removed or changed.",
    fields: releaseDiffFields,
    response: releaseDiffSchema,
    run: (controlPlane, principal, request, options) => controlPlane.compareReleases(principal, request, options),
  }),
  redeploy("/v1/deployment/rollback", {
    operation: "rollback",
    summary: "Restore an earlier release, and stream the rollout's records.",
    description:
      "Rolls out the image of the release with its whole declaration, such as resources, variables, mounts, schedule " +
      "and health check, under the current quotas and policies. Builds nothing, and does not change the data of " +
      "volumes. The result is a new release. The records are those of a deploy without `BUILDING`. A deploy that is " +
      "building ends with the reason `superseded`.",
    fields: rollbackFields,
    response: deployEventSchema,
    start: (controlPlane, principal, request) => controlPlane.rollback(principal, request),
  }),
  post("/v1/deployment/rollback/plan", {
    operation: "planRollback",
    summary: "Show what a rollback would change, without rolling back.",
    description: "Takes the fields of a rollback except `message`.",
    fields: rollbackPlanFields,
    response: rollbackPlanSchema,
    run: (controlPlane, principal, request, options) => controlPlane.planRollback(principal, request, options),
  }),
  redeploy("/v1/deployment/restart", {
    operation: "restartDeployment",
    summary: "Restart a deployment, and stream the rollout's records.",
    description:
      "Redeploys the serving release without a build: new instances replace the current ones, as in a deploy. The " +
      "result is a new release.",
    fields: restartFields,
    response: deployEventSchema,
    start: (controlPlane, principal, request) => controlPlane.restartDeployment(principal, request),
  }),
  redeploy("/v1/deployment/env", {
    operation: "setEnvironment",
    summary: "Set and remove variables of a deployment, and stream the rollout's records.",
    description:
      "Redeploys the serving release with the changed variables, without a build. Variables that the request does " +
      "not name keep their values. The field `env` of a deploy, in contrast, replaces all variables. The result is a " +
      "new release.",
    fields: setEnvironmentFields,
    needsOneOf: ["set", "unset"],
    response: deployEventSchema,
    start: (controlPlane, principal, request) => controlPlane.setEnvironment(principal, request),
  }),
] as const;
