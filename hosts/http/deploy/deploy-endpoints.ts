/** Deploys: begin, plan, follow and end them. */

import { deployEventSchema } from "../../../core/domain/deploy/events.ts";
import { deployFields } from "../../../core/domain/deploy/fields.ts";
import { cancelFields, resumeFields } from "../../../core/domain/wire/requests.ts";
import { detailSchema, planSchema } from "../../../core/domain/wire/responses.ts";
import { type Endpoint, json } from "../endpoint.ts";

export const deployEndpoints: readonly Endpoint[] = [
  {
    kind: "deploy",
    method: "POST",
    path: "/v1/deploy",
    summary: "Deploy from source; the answer is a live stream of records.",
    description:
      "The deploy is a complete declaration: mounts and schedule replace what was there. Send " +
      "`source_archive` or `source_object`. The first record comes immediately, a silent step repeats its " +
      "record every 15 seconds, and the last record is `DONE` with the URL or `ERROR` with a reason. A " +
      "client that disconnects does not cancel the deploy.",
    place: "body",
    fields: deployFields,
    answer: deployEventSchema,
  },
  {
    kind: "plan",
    method: "POST",
    path: "/v1/deploy/plan",
    summary: "What a deploy would do, in words and data; nothing is done.",
    description: "Takes the form of a deploy; the source may be left out.",
    place: "body",
    fields: deployFields,
    answer: planSchema,
  },
  json({
    method: "POST",
    path: "/v1/deploy/cancel",
    summary: "End a deploy, unless traffic has moved.",
    description: "The deploy ends with the reason `interrupted`. A deploy whose traffic has moved is not changed.",
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
    description:
      "Streams the records after `after`, and those that are still to come. A deploy can be followed for an " +
      "hour after its end, at the server that runs it.",
    place: "query",
    fields: resumeFields,
    answer: deployEventSchema,
  },
];
