/** Describes an endpoint: its method, path, fields, response and use case. */
import type { z } from "zod";
import type { ControlPlane, DeployRun, RequestOptions } from "../../core/control-plane.ts";
import type { Principal } from "../../core/domain/accounts/account.ts";
import type { Fields, RawFields, RequestFields } from "../../core/domain/wire/fields.ts";
import { issue } from "../../core/domain/wire/issue.ts";
import { type ControlPlaneError, invalidInput } from "../../core/errors.ts";
import { errAsync, type ResultAsync } from "../../core/result.ts";
import type { ClientContext } from "./accounts/client-context.ts";
import type { FieldLocation } from "./error-response.ts";

/** The properties of a request that an endpoint may read, in addition to the fields. */
export interface EndpointOptions extends RequestOptions {
  readonly signal: AbortSignal;
  readonly client: ClientContext;
}

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
    options: EndpointOptions,
  ) => ResultAsync<unknown, ControlPlaneError>;
  /** True if a request needs no credential. `run` must then ignore the principal, which is absent. */
  readonly isPublic?: boolean;
  /** Splits the result into body and headers. Defaults to the whole result as the body. */
  readonly render?: (result: unknown, client: ClientContext) => Rendered;
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

/** The part of a definition from which the client's types derive. */
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
      options: EndpointOptions,
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

/** Calls `run` for an endpoint without fields. Returns an error instead if the request has fields. */
export const withoutFields = <T>(
  request: RawFields,
  run: () => ResultAsync<T, ControlPlaneError>,
): ResultAsync<T, ControlPlaneError> => {
  const unknown = Object.keys(request).map((name) =>
    issue([name], `unknown field '${name}'; this endpoint has no fields`, "extra_forbidden"),
  );
  return unknown.length > 0 ? errAsync(invalidInput(unknown)) : run();
};

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

/** Returns whether requests to the endpoint need a credential. */
export const needsCredential = (endpoint: Endpoint): boolean => endpoint.kind !== "json" || endpoint.isPublic !== true;

/** Returns whether the endpoint belongs to the console, which a host may turn off. */
export const isOfConsole = ({ path }: Endpoint): boolean => path.startsWith("/v1/console/");

/** Returns whether the endpoint takes a multipart form. The other endpoints with a body take JSON. */
export const takesForm = ({ kind }: Endpoint): boolean => kind === "deploy" || kind === "plan";

/** Returns whether the response is a stream of records. */
export const isStream = ({ kind }: Endpoint): boolean => kind === "deploy" || kind === "resume" || kind === "redeploy";

export const locationOf = ({ method }: Endpoint): FieldLocation => (method === "GET" ? "query" : "body");
