/**
 * The HTTP API as a Fastify plugin, for Portside's own server and for other applications:
 *
 * ```ts
 * await app.register(portside, { controlPlane });
 * ```
 */
import { randomUUID } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ControlPlane } from "../../core/control-plane.ts";
import type { Principal } from "../../core/domain/accounts/account.ts";
import { saneRequestId } from "../../core/domain/wire/request-id.ts";
import { type ControlPlaneError, internal } from "../../core/errors.ts";
import { ok, type Result } from "../../core/result.ts";
import {
  type ClientContext,
  type ClientContextOptions,
  clientContextOf,
  sessionSecretsOf,
} from "./accounts/client-context.ts";
import { consoleRoutes } from "./console-routes.ts";
import { checkOrigins, crossSiteError, sessionSourceError } from "./cross-site.ts";
import { deployHandler, type Handler, planHandler, redeployHandler, resumeHandler } from "./deploy/routes.ts";
import { clientDisconnected, cutOff, hasBody, isClosed, requestAborted } from "./disconnects.ts";
import { documentRoutes } from "./docs/document-routes.ts";
import type { EndpointOptions } from "./endpoint.ts";
import { type Endpoint, endpoints, isOfConsole, type JsonEndpoint, locationOf, needsCredential } from "./endpoints.ts";
import { errorResponse, type FieldLocation } from "./error-response.ts";
import { hostErrorResponse } from "./host-error.ts";
import { rejectOtherMethods } from "./other-methods.ts";
import { contentTypeProblem, InvalidBodyError, readBodies } from "./read-bodies.ts";
import { healthRoutes } from "./server/health-routes.ts";

export interface PortsideOptions {
  readonly controlPlane: ControlPlane;
  /** Serves `/openapi.json`, `/docs` and `/schema/portside.json`. Defaults to true. */
  readonly documents?: boolean;
  /** Serves `/health` and `/ready`. Defaults to false, because most applications have such paths already. */
  readonly health?: boolean;
  /**
   * Returns the principal of a request that the application authenticates, for example by its own session. If the
   * function returns undefined, or if this option is absent, Portside authenticates the request by its key, its token
   * or its session of the console.
   */
  readonly caller?: (request: FastifyRequest) => Principal | undefined | Promise<Principal | undefined>;
  /**
   * Further origins of the application's pages, such as `https://app.example.com`. Required if a proxy changes the
   * scheme or the host. A request that `caller` authenticates fails with 403 if its `Origin` is not in this list and
   * differs from the origin of the request's URL. It also fails if its `Sec-Fetch-Site` is neither `same-origin` nor
   * `none`. Portside checks requests with a session of the console and sign-ins too, but not requests that it
   * authenticates by key or token.
   *
   * The first origin is also that of the console in sign-in links. A page with an `https` origin of this list may sign
   * in to the console, even if the proxy forwards its requests without TLS.
   */
  readonly origins?: readonly string[];
  /** Serves the console at `/console/` and the endpoints of its sessions (`/v1/console/`). Defaults to true. */
  readonly console?: boolean;
  /** Called when a request ends, for metrics. */
  readonly onServed?: (call: ServedCall) => void;
}

/** A request that ended: the response was sent, or the client disconnected. */
export interface ServedCall {
  readonly method: string;
  /** The path pattern of the route, such as `/v1/deploy/:deploy_id`; undefined if no route matches. */
  readonly route: string | undefined;
  readonly status: number;
  /** The time from the request's headers to the last byte of the response. */
  readonly seconds: number;
}

/** @param prefix the prefix of the plugin in the application */
export const servedCallOf = (
  { method, routeOptions: { url } }: FastifyRequest,
  reply: FastifyReply,
  prefix = "",
): ServedCall => ({
  method,
  route: url?.slice(prefix.length),
  status: reply.statusCode,
  seconds: reply.elapsedTime / 1000,
});

interface RequestContext {
  requestId: string;
  location: FieldLocation;
  principal?: Principal;
}

/**
 * The property of a request that stores its context. A WeakMap would keep every request in memory until the next full
 * garbage collection.
 */
const CONTEXT = Symbol("portside");

const requestContext = (request: FastifyRequest & { [CONTEXT]?: RequestContext }): RequestContext => {
  request[CONTEXT] ??= { requestId: saneRequestId(request.headers["x-request-id"]) ?? randomUUID(), location: "body" };
  return request[CONTEXT];
};

/** Returns the principal of an authenticated request, for the log line of a host. */
export const principalOf = (request: FastifyRequest): Principal | undefined => requestContext(request).principal;
export const requestIdOf = (request: FastifyRequest): string => requestContext(request).requestId;

const sendError = (reply: FastifyReply, error: ControlPlaneError): FastifyReply => {
  const { location, requestId } = requestContext(reply.request);
  const { status, headers, body } = errorResponse(error, location, requestId);
  if (error.kind === "internal") reply.log.error({ err: error.cause, requestId }, error.message);
  return reply.code(status).headers(headers).send(body);
};

const bug = (cause: unknown): ControlPlaneError => internal("A request failed because of a bug.", cause);

const first = (header: string | string[] | undefined): string | undefined =>
  Array.isArray(header) ? header[0] : header;

/** A log message for the developer of the embedding application. The client receives a 500. */
const READ_ALREADY =
  "The application read the request's body before Portside. Mount Portside before body parsers such as express.json().";

type CallerOptions = Pick<PortsideOptions, "controlPlane" | "caller"> & ClientContextOptions;

const checkCrossSite = (
  request: FastifyRequest,
  origins: ReadonlySet<string>,
  check: typeof crossSiteError = crossSiteError,
): ControlPlaneError | undefined => {
  const { headers, protocol, host } = request;
  const source = { fetchSite: first(headers["sec-fetch-site"]), origin: headers.origin };
  return check(source, `${protocol}://${host}`, origins);
};

/**
 * Returns the secrets of a session of the console; undefined if the request has a key or token, which take precedence.
 */
const sessionOf = ({ console }: Pick<CallerOptions, "console">, { headers }: FastifyRequest) =>
  console.supported && headers["x-api-key"] === undefined && headers.authorization === undefined
    ? sessionSecretsOf(headers)
    : undefined;

/** Authenticates a request by its key, token or session. */
const authenticateCredential = (
  { controlPlane, console }: Pick<CallerOptions, "controlPlane" | "console">,
  request: FastifyRequest,
) => {
  const { headers } = request;
  const session = sessionOf({ console }, request);
  return controlPlane.authenticate({
    apiKey: first(headers["x-api-key"]),
    authorization: headers.authorization,
    session,
  });
};

/**
 * @param own the principal that the application authenticated; if undefined, Portside checks the request's credential
 */
const authenticate = async (
  { controlPlane, origins, console }: CallerOptions,
  own: Principal | undefined,
  request: FastifyRequest,
): Promise<ControlPlaneError | undefined> => {
  const session = sessionOf({ console }, request);
  // Before `countRequest`: another site must not use up the account's rate limit.
  if (own !== undefined || session !== undefined) {
    const forged = checkCrossSite(request, origins, own === undefined ? sessionSourceError : crossSiteError);
    if (forged !== undefined) return forged;
  }
  const principal =
    own === undefined
      ? await authenticateCredential({ controlPlane, console }, request)
      : ok<Principal, ControlPlaneError>(own);
  if (principal.isErr()) return principal.error;
  requestContext(request).principal = principal.value;
  const counted = controlPlane.countRequest(principal.value);
  return counted.isErr() ? counted.error : undefined;
};

const checkCaller = async (options: CallerOptions, request: FastifyRequest, reply: FastifyReply): Promise<boolean> => {
  const { caller } = options;
  // Outside the try block, so that an exception of the application keeps its status.
  const own = caller === undefined ? undefined : await caller(request);
  let error: ControlPlaneError | undefined;
  try {
    error = await authenticate(options, own, request);
  } catch (thrown) {
    error = bug(thrown);
  }
  if (error !== undefined) sendError(reply, error);
  return error === undefined;
};

/** Checks the credential, the account's rate limit and the content type, in this order and before reading the body. */
const admit = (options: CallerOptions, endpoint: Endpoint) => async (request: FastifyRequest, reply: FastifyReply) => {
  requestContext(request).location = locationOf(endpoint);
  if (needsCredential(endpoint)) {
    if (!(await checkCaller(options, request, reply))) return reply;
  } else {
    // Another site must not sign the user in to an account of its choice.
    const forged = checkCrossSite(request, options.origins);
    if (forged !== undefined) return sendError(reply, forged);
  }
  if (hasBody(request.raw) && request.raw.readableDidRead) return sendError(reply, internal(READ_ALREADY));
  const problem = contentTypeProblem(endpoint, request.headers["content-type"], hasBody(request.raw));
  return problem === undefined ? undefined : reply.code(415).send({ detail: problem });
};

/** The options that a request passes to its endpoint. */
class HttpRequestOptions implements EndpointOptions {
  readonly #caller: CallerOptions;
  readonly #reply: FastifyReply;
  #controller: AbortController | undefined;

  constructor(caller: CallerOptions, reply: FastifyReply) {
    this.#caller = caller;
    this.#reply = reply;
  }

  get client(): ClientContext {
    return clientContextOf(this.#reply.request, this.#caller);
  }

  /**
   * Aborts if the client disconnects before it receives the response. Created lazily, because a signal costs more than
   * a small response.
   */
  get signal(): AbortSignal {
    this.#controller ??= this.#watch();
    return this.#controller.signal;
  }

  async reauthenticate(): Promise<Result<Principal, ControlPlaneError>> {
    const { request } = this.#reply;
    const own = await this.#caller.caller?.(request);
    return own === undefined ? authenticateCredential(this.#caller, request) : ok(own);
  }

  #watch(): AbortController {
    const { raw } = this.#reply;
    const controller = new AbortController();
    if (isClosed(raw)) controller.abort();
    raw.once("close", () => {
      // Every response emits "close". Abort only after a disconnect, because creating an abort reason is expensive.
      if (clientDisconnected(raw)) controller.abort();
    });
    return controller;
  }
}

const jsonHandler = (caller: CallerOptions, endpoint: JsonEndpoint): Handler =>
  async function handle(request, reply, principal) {
    const options = new HttpRequestOptions(caller, reply);
    const raw =
      endpoint.method === "GET" ? knownQuery(endpoint, request) : ((request.body ?? {}) as Record<string, unknown>);
    const result = await endpoint.run(caller.controlPlane, principal, raw, options);
    if (result.isErr()) return sendError(reply, result.error);
    if (endpoint.render === undefined) return reply.send(result.value);
    const { body, headers } = endpoint.render(result.value, options.client);
    return reply.headers(headers).send(body);
  };

/** Drops unknown query parameters. Unknown fields of a body, in contrast, are an issue. */
const knownQuery = (endpoint: Endpoint, request: FastifyRequest): Record<string, unknown> => {
  const query = request.query as Record<string, unknown>;
  return Object.fromEntries(
    Object.keys(endpoint.fields).flatMap((name) => (Object.hasOwn(query, name) ? [[name, query[name]]] : [])),
  );
};

/** Disconnects the client when the session of the request ends, so that the session's streams end with it. */
const cutOffWhenSignedOut = (controlPlane: ControlPlane, principal: Principal, reply: FastifyReply): void => {
  // If the client disconnected during authentication, "close" has already been emitted.
  if (isClosed(reply.raw)) return;
  const closed = new AbortController();
  reply.raw.once("close", () => closed.abort());
  void controlPlane.whenSignedOut(principal, { signal: closed.signal }).then(() => {
    if (!closed.signal.aborted) cutOff(reply.raw);
  });
};

/**
 * Catches Portside's own exceptions before the error handler, which could not distinguish them from the application's:
 * SDK errors have a `statusCode` too.
 */
const catchBugs =
  (controlPlane: ControlPlane, handle: Handler) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    try {
      // Absent only for endpoints that need no credential, which ignore it.
      const { principal } = requestContext(request) as Required<RequestContext>;
      if (principal?.sessionId !== undefined) cutOffWhenSignedOut(controlPlane, principal, reply);
      return await handle(request, reply, principal);
    } catch (error) {
      return sendError(reply, bug(error));
    }
  };

const handlerOf = (options: CallerOptions, endpoint: Endpoint): Handler => {
  const { controlPlane } = options;
  switch (endpoint.kind) {
    case "json":
      return jsonHandler(options, endpoint);
    case "deploy":
      return deployHandler(controlPlane, sendError);
    case "plan":
      return planHandler(controlPlane, sendError);
    case "resume":
      return resumeHandler(controlPlane, sendError);
    case "redeploy":
      return redeployHandler(controlPlane, endpoint, sendError);
  }
};

/** Handles errors of Fastify itself and of the application's hooks and plugins. */
const handleError = (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
  const { requestId } = requestContext(request);
  // A hook of the application may throw before the plugin's own hook has set this header.
  reply.header("x-request-id", requestId);
  if (error instanceof InvalidBodyError) return sendError(reply, error.error);
  // A disconnect during the body is not a bug, and no client is left to receive a response.
  if (requestAborted(request.raw)) return reply.hijack();
  switch ((error as { code?: unknown } | null)?.code) {
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return reply.code(413).send({ detail: "The body is larger than the limit of 1 MiB. Send a smaller body." });
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return reply.code(415).send({
        detail:
          "This endpoint does not support the content type of the request. Send JSON as application/json, and a deploy as multipart/form-data.",
      });
    case "FST_ERR_CTP_INVALID_CONTENT_LENGTH":
      return reply
        .code(400)
        .send({ detail: "The length of the body differs from its Content-Length. Send the correct length." });
  }
  const response = hostErrorResponse(error, reply.statusCode, requestId);
  if (response === undefined) return sendError(reply, bug(error));
  const { status, headers, body } = response;
  if (status >= 500) reply.log.error({ err: error, requestId }, "A hook of the application failed.");
  return reply.code(status).headers(headers).send(body);
};

/** Describes the console of this server, for `GET /v1/capabilities`. */
const consoleOf = ({ controlPlane, console = true, caller }: PortsideOptions): ClientContext["console"] => ({
  supported: console,
  sign_in: !console
    ? []
    : [
        ...(controlPlane.hasSessions ? (["link", "key"] as const) : []),
        ...(caller === undefined ? [] : (["application"] as const)),
      ],
});

const FASTIFY_MAJOR = 5;

export const portside = async (app: FastifyInstance, options: PortsideOptions): Promise<void> => {
  if (Number.parseInt(app.version, 10) !== FASTIFY_MAJOR)
    throw new TypeError(
      `portside/http needs Fastify ${FASTIFY_MAJOR}, but the application has ${app.version}. Install fastify@${FASTIFY_MAJOR}.`,
    );
  const { controlPlane, documents = true, health = false, origins = [], console = true } = options;
  const callerOptions: CallerOptions = {
    ...options,
    origins: checkOrigins(origins),
    prefix: app.prefix,
    console: consoleOf(options),
  };
  readBodies(app);
  app.setErrorHandler<unknown>(handleError);
  app.addHook("onRequest", (request, reply, done) => {
    reply.header("x-request-id", requestContext(request).requestId);
    done();
  });
  // A closing application waits for its requests, so they must not wait for log entries.
  app.addHook("preClose", async () => controlPlane.endWaits());
  const { onServed } = options;
  if (onServed !== undefined)
    app.addHook("onResponse", (request, reply, done) => {
      onServed(servedCallOf(request, reply, app.prefix));
      done();
    });
  const served = console ? endpoints : endpoints.filter((endpoint) => !isOfConsole(endpoint));
  for (const endpoint of served)
    app.route({
      method: endpoint.method,
      url: endpoint.path,
      onRequest: admit(callerOptions, endpoint),
      handler: catchBugs(controlPlane, handlerOf(callerOptions, endpoint)),
    });
  for (const [path, same] of Map.groupBy(served, (endpoint) => endpoint.path)) {
    const methods = same.map((endpoint) => endpoint.method);
    rejectOtherMethods(app, path, methods, (request, reply) => checkCaller(callerOptions, request, reply));
  }
  if (documents) documentRoutes(app, { health, console });
  if (console) consoleRoutes(app, controlPlane, callerOptions.console.sign_in);
  if (health) healthRoutes(app, controlPlane);
};
