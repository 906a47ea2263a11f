/** Schemas of small API responses. Larger schemas are in the folders of their domains. */
import { z } from "zod";
import { credentialKinds } from "../accounts/account.ts";
import { capabilitiesSchema, formerNames } from "./capabilities.ts";

const time = z.string().meta({ format: "date-time" });

export const detailSchema = z.object({ detail: z.string() }).readonly();

export const nameCheckSchema = z
  .object({
    available: z.boolean(),
    reason: z.string().meta({ description: "Why the name is not available; empty if it is." }),
  })
  .readonly();

export const apiKeySchema = z
  .object({
    id: z.string(),
    prefix: z.string().meta({ description: "The first characters of the key." }),
    label: z.string().meta({ description: "The purpose of the key." }),
    created_at: time,
    last_used_at: time
      .nullable()
      .meta({ description: "The last use of the key, to the minute; null if it was never used." }),
  })
  .readonly();

export const newKeySchema = z
  .object({
    id: z.string(),
    prefix: z.string().meta({ description: "The first characters of the key." }),
    key: z.string().meta({ description: "The key. No other response contains it." }),
  })
  .readonly();

/** The response to a request for a bearer token. */
export const tokenSchema = z.object({ access_token: z.string(), expires_at: time }).readonly();

/** The response to a request for a sign-in link. */
export const consoleLinkSchema = z
  .object({
    url: z.string().meta({ description: "Opens the console and signs in once." }),
    expires_at: time.meta({ description: "When the link becomes invalid." }),
  })
  .readonly();

/** The response to a sign-in. */
export const signInSchema = z
  .object({
    request_token: z.string().meta({
      description: "The second secret of the session. Send it in the header `X-Portside-Console`, with the cookie.",
    }),
    expires_at: time.meta({ description: "When the session ends." }),
    account: z.string(),
  })
  .readonly();

export const sessionListSchema = z
  .object({
    sessions: z.array(
      z.object({
        id: z.string(),
        created_at: time,
        expires_at: time,
        last_seen: time
          .optional()
          .meta({ description: "The last use of the session, to the minute; absent if it was never used." }),
        credential: z
          .object({
            kind: z.enum(credentialKinds),
            id: z.string(),
            label: z.string().meta({ description: "The label of the key; empty for tokens." }),
          })
          .meta({ description: "The credential that started the session." }),
        current: z.boolean().meta({ description: "Whether this session sent the request." }),
      }),
    ),
  })
  .readonly();

/** The ways to sign in to the console. */
export const signInMethods = ["link", "key", "application"] as const;

export const consoleSchema = z
  .object({
    supported: z.boolean().meta({ description: "Whether this server has a console." }),
    sign_in: z.array(z.enum(signInMethods)).meta({
      description:
        "link: a link from `POST /v1/console/link`. key: an API key. application: the application that embeds the API " +
        "signs its users in.",
    }),
  })
  .readonly();

export const planSchema = z
  .object({
    action: z.enum(["create", "update"]),
    name: z.string(),
    summary: z.array(z.string()).meta({ description: "The plan in sentences." }),
    changes: z.array(z.object({ field: z.string(), from: z.unknown(), to: z.unknown() })),
    adjustments: z.array(z.object({ field: z.string(), from: z.string(), to: z.string(), message: z.string() })),
    volumes: z.object({ create: z.array(z.string()), detach: z.array(z.string()) }),
    schedule: z.object({
      action: z.enum(["put", "remove", "none"]),
      cron: z.string().nullable(),
      timezone: z.string().nullable(),
      max_seconds: z
        .int()
        .meta({ description: "The maximum duration of one attempt to call the service on schedule, in seconds." }),
    }),
    min_instances_price: z
      .object({
        currency: z.string().meta({ examples: ["USD"] }),
        per_hour: z.string().meta({ description: "A decimal with up to six places.", examples: ["0.0936"] }),
        per_month: z.string().meta({ description: "The price of 730 hours, with two places.", examples: ["68.33"] }),
      })
      .nullable()
      .meta({
        description:
          "The price of the instances that `min_instances` keeps running. Null if `min_instances` is 0 or the platform " +
          "has no price list.",
      }),
    not_enforced: z
      .array(z.string())
      .meta({ description: "The declared fields that the provider does not enforce, as sentences." }),
  })
  .readonly();

/** The response of a rollback's plan. */
export const rollbackPlanSchema = planSchema
  .unwrap()
  .extend({ release: z.int().meta({ description: "The release that the rollback restores." }) })
  .readonly();

/** The response to a request for a fire. */
export const fireSchema = z
  .object({
    fire_id: z.string().meta({ description: "The id of the run, in `cron.last` and in the log." }),
  })
  .readonly();

export const limitsSchema = z.object({
  deployments: z.int().meta({ description: "The maximum number of deployments." }),
  instances: z.int().meta({
    description: "The largest permitted `max_instances` of a deployment. Some providers also limit the total.",
  }),
  volumes: z.int().meta({ description: "The maximum number of volumes." }),
  domains: z.int().meta({ description: "The maximum number of custom domains." }),
  builds_at_once: z.int().meta({ description: "The maximum number of concurrent builds." }),
  uploads_at_once: z.int().meta({ description: "The maximum number of concurrent uploads of sources." }),
  sql_at_once: z.int().meta({ description: "The maximum number of concurrent SQL queries." }),
  requests_per_minute: z.int().meta({ description: "The maximum number of requests per minute." }),
});

const capabilitiesShape = capabilitiesSchema.unwrap().shape;

export const capabilitiesResponseSchema = z
  .object({
    ...capabilitiesShape,
    volumes: capabilitiesShape.volumes.extend(formerNames),
    limits: limitsSchema.meta({ description: "The quotas of your account." }),
  })
  .readonly();
