/** The account: capabilities, quotas, keys and tokens. */
import { z } from "zod";
import { accountUsageSchema } from "../../../core/domain/accounts/quotas.ts";
import { createKeyFields, revokeKeyFields } from "../../../core/domain/wire/requests.ts";
import {
  apiKeySchema,
  capabilitiesResponseSchema,
  consoleSchema,
  detailSchema,
  newKeySchema,
  tokenSchema,
} from "../../../core/domain/wire/responses.ts";
import { okAsync } from "../../../core/result.ts";
import { get, post, withoutFields } from "../endpoint.ts";

export const accountEndpoints = [
  get("/v1/capabilities", {
    operation: "capabilities",
    summary: "Get the features of this platform's provider, and your quotas.",
    description:
      "Returns instance sizes, isolation, log delay, your account's quotas, and a reason for each missing feature.",
    response: capabilitiesResponseSchema.unwrap().extend({ console: consoleSchema }).readonly(),
    run: (controlPlane, _principal, _request, { client }) =>
      okAsync({ ...controlPlane.capabilities(), console: client.console }),
  }),
  get("/v1/account/usage", {
    operation: "getAccountUsage",
    summary: "Get the quotas of your account, each with its use.",
    description:
      "A count may exceed a limit that the operator lowered. Each replica counts requests and concurrent calls " +
      "separately, so these counts are those of the server that responds.",
    response: accountUsageSchema,
    run: (controlPlane, principal, _request, options) => controlPlane.getAccountUsage(principal, options),
  }),
  post("/v1/key/create", {
    operation: "createKey",
    summary: "Create an API key for your account.",
    description:
      "The key has the rights of the account. Only this response contains it, because the platform stores a hash. A " +
      "token from `/v1/token` cannot create keys (403).",
    fields: createKeyFields,
    response: newKeySchema,
    run: (controlPlane, principal, request, options) => controlPlane.createKey(principal, request, options),
  }),
  get("/v1/key/list", {
    operation: "listKeys",
    summary: "List your API keys.",
    description: "Returns each key's prefix and the time of its last use, never the key itself.",
    response: z.array(apiKeySchema),
    run: (controlPlane, principal, _request, options) => controlPlane.listKeys(principal, options),
  }),
  post("/v1/key/revoke", {
    operation: "revokeKey",
    summary: "Revoke one of your API keys.",
    description: "The key stops working within 10 seconds on every server of the platform.",
    fields: revokeKeyFields,
    response: detailSchema,
    run: (controlPlane, principal, request, options) => controlPlane.revokeKey(principal, request, options),
  }),
  post("/v1/token", {
    operation: "issueToken",
    summary: "Create a short-lived bearer token for your account.",
    description:
      "Use it in programs that should not store a key. The token has the rights of the account until `expires_at`, " +
      "but cannot create keys or tokens (403). If the key that created it is revoked, the token stops working within " +
      "10 seconds.",
    response: tokenSchema,
    run: (controlPlane, principal, request, options) =>
      withoutFields(request, () => controlPlane.issueToken(principal, options)),
  }),
] as const;
