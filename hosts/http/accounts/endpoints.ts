/** The account: what it may use, its keys and tokens. */
import { z } from "zod";
import { issue } from "../../../core/domain/wire/issue.ts";
import { createKeyFields, revokeKeyFields } from "../../../core/domain/wire/requests.ts";
import {
  apiKeySchema,
  capabilitiesResponseSchema,
  detailSchema,
  newKeySchema,
  tokenSchema,
} from "../../../core/domain/wire/responses.ts";
import { invalidInput } from "../../../core/errors.ts";
import { errAsync, okAsync } from "../../../core/result.ts";
import { type Endpoint, json } from "../endpoint.ts";

export const accountEndpoints: readonly Endpoint[] = [
  json({
    method: "GET",
    path: "/v1/capabilities",
    summary: "What this platform's provider can and cannot do, and your limits.",
    description:
      "Clients can adapt to the provider with it instead of trying: sizes of instances, isolation, log " +
      "delay, limits of your account.",
    place: "query",
    fields: {},
    answer: capabilitiesResponseSchema,
    run: (controlPlane) => okAsync(controlPlane.capabilities()),
  }),
  json({
    method: "POST",
    path: "/v1/key/create",
    summary: "Make an API key for your account; it is shown once.",
    description:
      "The key has the rights of the account. The platform keeps a hash of it only. A token from `/v1/token` may not make keys.",
    place: "body",
    fields: createKeyFields,
    answer: newKeySchema,
    run: (controlPlane, principal, request, options) => controlPlane.createKey(principal, request, options),
  }),
  json({
    method: "GET",
    path: "/v1/key/list",
    summary: "Your API keys.",
    description: "By prefix, with the time of the last use; keys themselves are never shown again.",
    place: "query",
    fields: {},
    answer: z.array(apiKeySchema),
    run: (controlPlane, principal, _request, options) => controlPlane.listKeys(principal, options),
  }),
  json({
    method: "POST",
    path: "/v1/key/revoke",
    summary: "Revoke one of your API keys.",
    description: "The key stops working within 10 seconds on every server of the platform.",
    place: "body",
    fields: revokeKeyFields,
    answer: detailSchema,
    run: (controlPlane, principal, request, options) => controlPlane.revokeKey(principal, request, options),
  }),
  json({
    method: "POST",
    path: "/v1/token",
    summary: "A short-lived bearer token for your account.",
    description:
      "For programs that should not hold a key. The token has the rights of the account until `expires_at`, but may not make " +
      "keys or tokens. It ends within 10 seconds of the revocation of the key that made it.",
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
