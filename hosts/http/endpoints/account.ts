/** The account: what it may use, its keys and tokens, its subscription. */
import { z } from "zod";
import {
  apiKeySchema,
  capabilitiesAnswerSchema,
  detailSchema,
  newKeySchema,
  tokenSchema,
} from "../../../core/domain/answers.ts";
import { type Capabilities, type Feature, refusal } from "../../../core/domain/capabilities.ts";
import { issue } from "../../../core/domain/issue.ts";
import { createKeyFields, revokeKeyFields } from "../../../core/domain/requests.ts";
import { subscriptionSchema } from "../../../core/domain/subscription.ts";
import { internal, invalidInput } from "../../../core/errors.ts";
import { errAsync, okAsync } from "../../../core/result.ts";
import { type Endpoint, type JsonEndpoint, json } from "./endpoint.ts";

/** An endpoint that this version routes and does not offer: the provider's record says why. */
const notOffered = (
  method: "GET" | "POST",
  path: string,
  summary: string,
  feature: (capabilities: Capabilities) => Feature,
): JsonEndpoint =>
  json({
    method,
    path,
    summary,
    place: method === "GET" ? "query" : "body",
    fields: {},
    answer: z.never(),
    run: (controlPlane) =>
      errAsync(
        refusal(feature(controlPlane.capabilities())) ??
          internal(`${path} is offered by the provider, but has no use case.`),
      ),
  });

export const accountEndpoints: readonly Endpoint[] = [
  notOffered("POST", "/v1/sql", "SQL over logs and billing.", (capabilities) => capabilities.sql),
  json({
    method: "GET",
    path: "/v1/user/subscription",
    summary: "What your account pays for.",
    place: "query",
    fields: {},
    answer: subscriptionSchema,
    run: (controlPlane, principal, _request, options) => controlPlane.getSubscription(principal, options),
  }),
  notOffered("GET", "/v1/user/subscription", "Your subscription.", (capabilities) => capabilities.subscription),
  json({
    method: "GET",
    path: "/v1/capabilities",
    summary: "What this platform's provider can and cannot do, and your limits.",
    place: "query",
    fields: {},
    answer: capabilitiesAnswerSchema,
    run: (controlPlane) => okAsync(controlPlane.capabilities()),
  }),
  json({
    method: "POST",
    path: "/v1/key/create",
    summary: "Make an API key for your account; it is shown once.",
    place: "body",
    fields: createKeyFields,
    answer: newKeySchema,
    run: (controlPlane, principal, request, options) => controlPlane.createKey(principal, request, options),
  }),
  json({
    method: "GET",
    path: "/v1/key/list",
    summary: "Your API keys.",
    place: "query",
    fields: {},
    answer: z.array(apiKeySchema),
    run: (controlPlane, principal, _request, options) => controlPlane.listKeys(principal, options),
  }),
  json({
    method: "POST",
    path: "/v1/key/revoke",
    summary: "Revoke one of your API keys.",
    place: "body",
    fields: revokeKeyFields,
    answer: detailSchema,
    run: (controlPlane, principal, request, options) => controlPlane.revokeKey(principal, request, options),
  }),
  json({
    method: "POST",
    path: "/v1/token",
    summary: "A short-lived bearer token for your account.",
    place: "body",
    fields: {},
    answer: tokenSchema,
    run: (controlPlane, principal, request, options) => {
      const unknown = Object.keys(request).map((name) =>
        issue([name], `unknown field '${name}'; this endpoint takes none`, "extra_forbidden"),
      );
      return unknown.length > 0 ? errAsync(invalidInput(unknown)) : controlPlane.issueToken(principal, options);
    },
  }),
];
