/** Describes an endpoint: its method, path, fields, response and use case. */
import type { z } from "zod";
import type { ControlPlane, DeployRun } from "../../core/control-plane.ts";
import type { Principal } from "../../core/domain/accounts/account.ts";
import type { RawFields } from "../../core/domain/wire/fields.ts";
import type { ControlPlaneError } from "../../core/errors.ts";
import type { ResultAsync } from "../../core/result.ts";
import type { FieldLocation } from "./error-response.ts";

type Fields = Readonly<Record<string, z.ZodType>>;

interface EndpointDescription {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly fields: Fields;
  /** A request must have at least one of these fields. */
  readonly needsOneOf?: readonly string[];
  readonly response: z.ZodType;
}

/** An endpoint that takes fields and returns JSON. */
export interface JsonEndpoint extends EndpointDescription {
  readonly kind: "json";
  readonly run: (
    controlPlane: ControlPlane,
    principal: Principal,
    request: RawFields,
    options: { readonly signal: AbortSignal },
  ) => ResultAsync<unknown, ControlPlaneError>;
  /** Splits the result into body and headers. Defaults to the whole result as the body. */
  readonly render?: (result: unknown) => Rendered;
  /** Descriptions of the headers that `render` returns. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Rendered {
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

/** An endpoint that takes fields, starts a deploy without a source, and streams its records. */
export interface RedeployEndpoint extends EndpointDescription {
  readonly kind: "redeploy";
  readonly start: (
    controlPlane: ControlPlane,
    principal: Principal,
    request: RawFields,
  ) => ResultAsync<DeployRun, ControlPlaneError>;
}

/** An endpoint that takes a form, or resumes a stream. Its handler is in `deploy/routes.ts`. */
export interface SpecialEndpoint extends EndpointDescription {
  readonly kind: "deploy" | "plan" | "resume";
}

export type Endpoint = JsonEndpoint | RedeployEndpoint | SpecialEndpoint;

type JsonDefinition = Omit<JsonEndpoint, "kind" | "method" | "path" | "fields"> & { readonly fields?: Fields };

const json =
  (method: "GET" | "POST") =>
  (path: string, definition: JsonDefinition): JsonEndpoint => ({
    kind: "json",
    method,
    path,
    fields: {},
    ...definition,
  });

/** `get` and `post` define a JSON endpoint, which has no fields by default. */
export const get = json("GET");
export const post = json("POST");

/** Returns whether the request is a multipart form. Other requests with a body are JSON. */
export const takesForm = ({ kind }: Endpoint): boolean => kind === "deploy" || kind === "plan";

/** Returns whether the response is a stream of records. */
export const isStream = ({ kind }: Endpoint): boolean => kind === "deploy" || kind === "resume" || kind === "redeploy";

export const locationOf = ({ method }: Endpoint): FieldLocation => (method === "GET" ? "query" : "body");
