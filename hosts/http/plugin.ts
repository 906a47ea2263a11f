/**
 * The whole HTTP API as a Fastify plugin, for Portside's own server and for anyone else's:
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
import { ok } from "../../core/result.ts";
import { checkOrigins, crossSiteRefusal } from "./cross-site.ts";
import { deployHandler, planHandler, resumeHandler } from "./deploy/routes.ts";
import { hasBody, isClosed, isCut, isUnseen } from "./disconnects.ts";
import { documentRoutes } from "./docs/document-routes.ts";
import { type Endpoint, endpoints, type JsonEndpoint } from "./endpoints.ts";
import { errorResponse, type Place } from "./error-response.ts";
import { hostErrorResponse } from "./host-error.ts";
import { refuseOtherMethods } from "./other-methods.ts";
import { BodyRefused, contentTypeProblem, readBodies } from "./read-bodies.ts";
import { healthRoutes } from "./server/health-routes.ts";

export interface PortsideOptions {
  readonly controlPlane: ControlPlane;
  /** Serve `/openapi.json`, `/docs` and `/schema/portside.json` as well; true by default. */
  readonly documents?: boolean;
  /** Serve `/health` and `/ready` as well; false by default, since an application has such paths of its own. */
  readonly health?: boolean;
  /**
   * Who calls, where the application has checked that by itself, such as by a session; undefined: nobody that it knows,
   * and the request's own key or token decides. Where absent, these decide alone.
   */
  readonly caller?: (request: FastifyRequest) => Principal | undefined | Promise<Principal | undefined>;
  /**
   * The origins of the application's pages, such as `https://app.example.com`, where a proxy changes the scheme or the
   * host. A request that `caller` knows is refused if its `Origin` is neither one of these nor the request's own, or if
   * its `Sec-Fetch-Site` is neither `same-origin` nor `none`. Requests with a key or a token are not checked.
   */
  readonly origins?: readonly string[];
  /** Told of each request when it is over, for metrics. */
  readonly onServed?: (call: ServedCall) => void;
}

/** A request that was answered, or whose client left. */
export interface ServedCall {
  readonly method: string;
  /** The endpoint's path as it is documented; undefined where there is no such endpoint. */
  readonly route: string | undefined;
  readonly status: number;
  /** From its head to the last byte of its answer. */
  readonly seconds: number;
}

/** @param prefix under which an application has put the plugin */
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

/** What a request carries from its first hook to its last. */
interface Carried {
  requestId: string;
  place: Place;
  principal?: Principal;
}

/** On the request itself: a WeakMap would keep every request until the next full collection of garbage. */
const CARRIED = Symbol("portside");

const carry = (request: FastifyRequest & { [CARRIED]?: Carried }): Carried => {
  request[CARRIED] ??= { requestId: saneRequestId(request.headers["x-request-id"]) ?? randomUUID(), place: "body" };
  return request[CARRIED];
};

/** Who made the request, once it has passed the plugin's own check; for the log line of a host. */
export const principalOf = (request: FastifyRequest): Principal | undefined => carry(request).principal;
export const requestIdOf = (request: FastifyRequest): string => carry(request).requestId;

const refuse = (reply: FastifyReply, error: ControlPlaneError): FastifyReply => {
  const { place, requestId } = carry(reply.request);
  const { status, headers, body } = errorResponse(error, place, requestId);
  if (error.kind === "internal") reply.log.error({ err: error.cause, requestId }, error.message);
  return reply.code(status).headers(headers).send(body);
};

const bug = (cause: unknown): ControlPlaneError => internal("A request met a bug.", cause);

const one = (header: string | string[] | undefined): string | undefined => (Array.isArray(header) ? header[0] : header);

/** Said in the log, for whoever embeds the plugin; the client could do nothing about it. */
const READ_ALREADY =
  "The application read a request's body before Portside got it: mount Portside before body parsers, such as express.json().";

type Callers = Pick<PortsideOptions, "controlPlane" | "caller"> & { readonly origins: ReadonlySet<string> };

const crossSite = (request: FastifyRequest, origins: ReadonlySet<string>): ControlPlaneError | undefined => {
  const { headers, protocol, host } = request;
  const source = { fetchSite: one(headers["sec-fetch-site"]), origin: headers.origin };
  return crossSiteRefusal(source, `${protocol}://${host}`, origins);
};

/** @param own the principal that the application knows; absent: the request's key or token decides */
const admitCaller = async (
  { controlPlane, origins }: Callers,
  own: Principal | undefined,
  request: FastifyRequest,
): Promise<ControlPlaneError | undefined> => {
  const { headers } = request;
  // Before the request is counted: another site must not use up the account's rate.
  const forged = own === undefined ? undefined : crossSite(request, origins);
  if (forged !== undefined) return forged;
  const known =
    own === undefined
      ? await controlPlane.authenticate({ apiKey: one(headers["x-api-key"]), authorization: headers.authorization })
      : ok<Principal, ControlPlaneError>(own);
  if (known.isErr()) return known.error;
  carry(request).principal = known.value;
  const counted = controlPlane.countRequest(known.value);
  return counted.isErr() ? counted.error : undefined;
};

const checkCaller = async (callers: Callers, request: FastifyRequest, reply: FastifyReply): Promise<boolean> => {
  const { caller } = callers;
  // Outside of the try block: an exception of the application keeps its status.
  const own = caller === undefined ? undefined : await caller(request);
  let refusal: ControlPlaneError | undefined;
  try {
    refusal = await admitCaller(callers, own, request);
  } catch (error) {
    refusal = bug(error);
  }
  if (refusal !== undefined) refuse(reply, refusal);
  return refusal === undefined;
};

/** Credentials, then the account's rate, then the content type: all from the headers, before any body is read. */
const admit = (callers: Callers, endpoint: Endpoint) => async (request: FastifyRequest, reply: FastifyReply) => {
  carry(request).place = endpoint.place;
  if (!(await checkCaller(callers, request, reply))) return reply;
  if (hasBody(request.raw) && request.raw.readableDidRead) return refuse(reply, internal(READ_ALREADY));
  const problem = contentTypeProblem(endpoint, request.headers["content-type"], hasBody(request.raw));
  return problem === undefined ? undefined : reply.code(415).send({ detail: problem });
};

/** Aborts when the client goes away before its answer. Made when somebody asks: small answers cost less than a signal. */
class WhileWanted {
  readonly #reply: FastifyReply;
  #gone: AbortController | undefined;

  constructor(reply: FastifyReply) {
    this.#reply = reply;
  }

  get signal(): AbortSignal {
    this.#gone ??= this.#watch();
    return this.#gone.signal;
  }

  #watch(): AbortController {
    const { raw } = this.#reply;
    const gone = new AbortController();
    if (isClosed(raw)) gone.abort();
    raw.once("close", () => {
      // Every answer ends with a close, and making the reason of an abort is dear.
      if (isUnseen(raw)) gone.abort();
    });
    return gone;
  }
}

const jsonHandler = (controlPlane: ControlPlane, endpoint: JsonEndpoint) =>
  async function handle(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const raw =
      endpoint.method === "GET" ? knownQuery(endpoint, request) : ((request.body ?? {}) as Record<string, unknown>);
    const { principal } = carry(request) as Required<Carried>;
    const answer = await endpoint.run(controlPlane, principal, raw, new WhileWanted(reply));
    if (answer.isErr()) return refuse(reply, answer.error);
    if (endpoint.render === undefined) return reply.send(answer.value);
    const { body, headers } = endpoint.render(answer.value);
    return reply.headers(headers).send(body);
  };

/** Unknown query parameters are ignored, unlike unknown fields of a body. */
const knownQuery = (endpoint: Endpoint, request: FastifyRequest): Record<string, unknown> => {
  const query = request.query as Record<string, unknown>;
  return Object.fromEntries(
    Object.keys(endpoint.fields).flatMap((name) => (Object.hasOwn(query, name) ? [[name, query[name]]] : [])),
  );
};

/**
 * Answers Portside's own exceptions where they are thrown. SDK errors carry a `statusCode` too, so the error handler
 * could not tell them from the application's.
 */
const catchBugs =
  (handle: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    try {
      return await handle(request, reply);
    } catch (error) {
      return refuse(reply, bug(error));
    }
  };

const handlerOf = (controlPlane: ControlPlane, endpoint: Endpoint) => {
  const withPrincipal =
    (handle: (request: FastifyRequest, reply: FastifyReply, principal: Principal) => Promise<unknown>) =>
    (request: FastifyRequest, reply: FastifyReply) =>
      handle(request, reply, (carry(request) as Required<Carried>).principal);
  switch (endpoint.kind) {
    case "json":
      return jsonHandler(controlPlane, endpoint);
    case "deploy":
      return withPrincipal(deployHandler(controlPlane, refuse));
    case "plan":
      return withPrincipal(planHandler(controlPlane, refuse));
    case "resume":
      return withPrincipal(resumeHandler(controlPlane, refuse));
  }
};

/** Errors that reach this handler are Fastify's own, or come from the application's hooks and plugins. */
const handleError = (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
  const { requestId } = carry(request);
  // The application's hooks run before the plugin's own, which sets this header.
  reply.header("x-request-id", requestId);
  if (error instanceof BodyRefused) return refuse(reply, error.error);
  // The client left in the middle of its body: nobody's bug, and nobody to answer.
  if (isCut(request.raw)) return reply.hijack();
  switch ((error as { code?: unknown } | null)?.code) {
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return reply.code(413).send({ detail: "The body is over 1 MiB." });
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return reply.code(415).send({ detail: "This endpoint does not take that content type." });
    case "FST_ERR_CTP_INVALID_CONTENT_LENGTH":
      return reply.code(400).send({ detail: "The body is not as long as its Content-Length says." });
  }
  const response = hostErrorResponse(error, reply.statusCode, requestId);
  if (response === undefined) return refuse(reply, bug(error));
  const { status, headers, body } = response;
  if (status >= 500) reply.log.error({ err: error, requestId }, "A hook of the application failed.");
  return reply.code(status).headers(headers).send(body);
};

const FASTIFY_MAJOR = 5;

export const portside = async (app: FastifyInstance, options: PortsideOptions): Promise<void> => {
  if (Number.parseInt(app.version, 10) !== FASTIFY_MAJOR)
    throw new TypeError(`portside/http needs Fastify ${FASTIFY_MAJOR}; this is ${app.version}`);
  const { controlPlane, documents = true, health = false, origins = [] } = options;
  const callers = { ...options, origins: checkOrigins(origins) };
  readBodies(app);
  app.setErrorHandler<unknown>(handleError);
  app.addHook("onRequest", (request, reply, done) => {
    reply.header("x-request-id", carry(request).requestId);
    done();
  });
  const { onServed } = options;
  if (onServed !== undefined)
    app.addHook("onResponse", (request, reply, done) => {
      onServed(servedCallOf(request, reply, app.prefix));
      done();
    });
  for (const endpoint of endpoints)
    app.route({
      method: endpoint.method,
      url: endpoint.path,
      onRequest: admit(callers, endpoint),
      handler: catchBugs(handlerOf(controlPlane, endpoint)),
    });
  for (const [path, same] of Map.groupBy(endpoints, (endpoint) => endpoint.path)) {
    const methods = same.map((endpoint) => endpoint.method);
    refuseOtherMethods(app, path, methods, (request, reply) => checkCaller(callers, request, reply));
  }
  if (documents) documentRoutes(app, { health });
  if (health) healthRoutes(app, controlPlane);
};
