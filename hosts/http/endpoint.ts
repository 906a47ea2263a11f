/** Describes an endpoint: its method, path, fields, response and use case. */
import type { z } from "zod";
import type { ControlPlane, DeployRun, RequestOptions } from "../../core/control-plane.ts";
import type { Principal } from "../../core/domain/accounts/account.ts";
import type { Fields, RawFields, RequestFields } from "../../core/domain/wire/fields.ts";
import type { ControlPlaneError } from "../../core/errors.ts";
import type { ResultAsync } from "../../core/result.ts";
import type { FieldLocation } from "./error-response.ts";

interface EndpointDescription<F extends Fields = Fields, R extends z.ZodType = z.ZodType> {
  /** The method of the control plane and of the client. */
  readonly operation: string;
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly fields: F;
  /** A request must have at least one of these fields. */
  readonly needsOneOf?: readonly string[];
  readonly response: R;
}

/** An endpoint that takes fields and returns JSON. */
export interface JsonEndpoint<F extends Fields = Fields, R extends z.ZodType = z.ZodType>
  extends EndpointDescription<F, R> {
  readonly kind: "json";
  readonly run: (
    controlPlane: ControlPlane,
    principal: Principal,
    request: RawFields,
    options: RequestOptions & { readonly signal: AbortSignal },
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
export interface RedeployEndpoint<F extends Fields = Fields, R extends z.ZodType = z.ZodType>
  extends EndpointDescription<F, R> {
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

/** The part of a definition that the types of the client derive from. */
interface Typed<O extends string, F extends Fields, R extends z.ZodType> {
  readonly operation: O;
  readonly fields?: F;
  readonly response: R;
}

type JsonDefinition<O extends string, F extends Fields, R extends z.ZodType> = Typed<O, F, R> &
  Omit<JsonEndpoint, "kind" | "method" | "path" | "run" | keyof Typed<O, F, R>> & {
    readonly run: (
      controlPlane: ControlPlane,
      principal: Principal,
      request: RequestFields<NoInfer<F>>,
      options: RequestOptions & { readonly signal: AbortSignal },
    ) => ResultAsync<unknown, ControlPlaneError>;
  };

type RedeployDefinition<O extends string, F extends Fields, R extends z.ZodType> = Required<Typed<O, F, R>> &
  Omit<RedeployEndpoint, "kind" | "method" | "path" | "start" | keyof Typed<O, F, R>> & {
    readonly start: (
      controlPlane: ControlPlane,
      principal: Principal,
      request: RequestFields<NoInfer<F>>,
    ) => ResultAsync<DeployRun, ControlPlaneError>;
  };

// The casts below are safe, because the use case validates the request.
const json =
  <const M extends "GET" | "POST">(method: M) =>
  <const O extends string, const P extends string, R extends z.ZodType, F extends Fields = Record<never, never>>(
    path: P,
    { fields = {} as F, run, ...definition }: JsonDefinition<O, F, R>,
  ) => ({ kind: "json" as const, method, path, fields, run: run as JsonEndpoint["run"], ...definition });

/** `get` and `post` define a JSON endpoint, which has no fields by default. */
export const get = json("GET");
export const post = json("POST");

/** Defines an endpoint that starts a deploy without a source. */
export const redeploy = <const O extends string, const P extends string, F extends Fields, R extends z.ZodType>(
  path: P,
  { start, ...definition }: RedeployDefinition<O, F, R>,
) => ({
  kind: "redeploy" as const,
  method: "POST" as const,
  path,
  start: start as RedeployEndpoint["start"],
  ...definition,
});

/** Returns whether the request is a multipart form. Other requests with a body are JSON. */
export const takesForm = ({ kind }: Endpoint): boolean => kind === "deploy" || kind === "plan";

/** Returns whether the response is a stream of records. */
export const isStream = ({ kind }: Endpoint): boolean => kind === "deploy" || kind === "resume" || kind === "redeploy";

export const locationOf = ({ method }: Endpoint): FieldLocation => (method === "GET" ? "query" : "body");
