/** Deploys: begin, plan, follow and end them. */

import { detailSchema, planSchema } from "../../../core/domain/answers.ts";
import { deployEventSchema } from "../../../core/domain/deploy-events.ts";
import { deployFields } from "../../../core/domain/deploy-fields.ts";
import { cancelFields, resumeFields } from "../../../core/domain/requests.ts";
import { type Endpoint, json } from "./endpoint.ts";

export const deployEndpoints: readonly Endpoint[] = [
  {
    kind: "deploy",
    method: "POST",
    path: "/v1/deploy",
    summary: "Deploy from source; the answer is a live stream of records.",
    place: "body",
    fields: deployFields,
    answer: deployEventSchema,
  },
  {
    kind: "plan",
    method: "POST",
    path: "/v1/deploy/plan",
    summary: "What a deploy would do, in words and data; nothing is done.",
    place: "body",
    fields: deployFields,
    answer: planSchema,
  },
  json({
    method: "POST",
    path: "/v1/deploy/cancel",
    summary: "End a deploy, unless traffic has moved.",
    place: "body",
    fields: cancelFields,
    answer: detailSchema,
    run: (controlPlane, principal, request) => controlPlane.cancelDeploy(principal, request),
  }),
  {
    kind: "resume",
    method: "GET",
    path: "/v1/deploy/:deploy_id",
    summary: "Follow a deploy from any record on.",
    place: "query",
    fields: resumeFields,
    answer: deployEventSchema,
  },
];
