/** Creates a client with one method per endpoint, and the methods that follow a log or a deploy. */
import type { z } from "zod";
import { fieldLimits } from "../../core/domain/accounts/limits.ts";
import type { DeployEvent } from "../../core/domain/deploy/events.ts";
import type { LogPage } from "../../core/domain/logs/entry.ts";
import { followLog, type ReadPage, WAIT_SECONDS } from "../../core/domain/logs/follow-log.ts";
import type { SqlColumn } from "../../core/domain/sql/answer.ts";
import type { RequestFields } from "../../core/domain/wire/fields.ts";
import type { KnownEndpoint } from "../http/endpoints.ts";
import { ApiError } from "./errors.ts";
import { formBody, type Source } from "./form.ts";
import { type Operation, operations } from "./operations.ts";
import { followRecords, isTemporary, retryPause, type StreamPosition, wait } from "./streams.ts";
import { type ClientOptions, createTransport, readJson, type Send } from "./transport.ts";

/** Options of every method. */
export interface RequestOptions {
  /** Cancels the request, or ends the iteration. The method then throws the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
}

/** Readers for responses that carry a part of the result in headers. */
const readers = {
  readLogs: (body: unknown, headers: Headers): LogPage => {
    const pollAfter = headers.get("x-poll-after");
    return {
      ...(body as Omit<LogPage, "partial">),
      partial: headers.get("x-logs-partial") === "true",
      ...(pollAfter === null ? {} : { pollAfterMs: Number(pollAfter) * 1000 }),
    };
  },
  runSql: (
    body: unknown,
    headers: Headers,
  ): { readonly columns: readonly SqlColumn[]; readonly rows: readonly Readonly<Record<string, unknown>>[] } => ({
    columns: JSON.parse(headers.get("x-columns") ?? "[]"),
    rows: body as Record<string, unknown>[],
  }),
} as const;

type Input<E extends KnownEndpoint> = RequestFields<E["fields"]> &
  (E["kind"] extends "deploy" | "plan" ? { readonly source_archive?: Source | undefined } : unknown);

type Output<E extends KnownEndpoint> = E["operation"] extends keyof typeof readers
  ? ReturnType<(typeof readers)[E["operation"]]>
  : E["kind"] extends "deploy" | "redeploy"
    ? AsyncGenerator<DeployEvent>
    : z.output<E["response"]>;

type Returned<E extends KnownEndpoint> = E["kind"] extends "resume" ? AsyncGenerator<DeployEvent> : Promise<Output<E>>;

type Method<E extends KnownEndpoint> = keyof E["fields"] extends never
  ? (options?: RequestOptions) => Returned<E>
  : Record<never, never> extends Input<E>
    ? (request?: Input<E>, options?: RequestOptions) => Returned<E>
    : (request: Input<E>, options?: RequestOptions) => Returned<E>;

type Methods = { readonly [E in KnownEndpoint as E["operation"]]: Method<E> };

/** A request to follow a log. The order is ascending, without an end, and `followLogs` sets `wait`. */
type FollowRequest = Omit<NonNullable<Parameters<Methods["readLogs"]>[0]>, "until" | "order" | "wait">;

/**
 * A client of the HTTP API: one method per endpoint, with the names, requests and results of the control plane. A
 * method throws a `PortsideError` if the request fails. A method that starts a deploy resolves when the platform has
 * accepted the deploy. Its result yields the deploy's records. The deploy continues if its client disconnects.
 * `followDeploy` yields the records of a deploy, starting at any record. If the connection breaks, an iteration of
 * records reconnects and continues after the last record received.
 */
export interface Client extends Methods {
  /**
   * Yields the entries of a log as they arrive, each once. Retries temporary errors with backoff.
   * Without `since`, begins with the newest entries. `limit` is the number of entries per request.
   */
  followLogs(request: FollowRequest, options?: RequestOptions): AsyncGenerator<LogPage["logs"][number]>;
}

type Raw = Readonly<Record<string, unknown>>;

const withQuery = (path: string, request: Raw): string => {
  const given = Object.entries(request).filter(([, value]) => value !== undefined && value !== null);
  const query = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)])).toString();
  return query === "" ? path : `${path}?${query}`;
};

const BACKOFF_MS = 500;
const BACKOFF_MAX_MS = 30_000;

/**
 * Returns a `readLogs` that makes the platform wait until an entry matches. Stops sending `wait` if the platform
 * rejects the field, as earlier versions do.
 */
export const waitingReadLogs = ({ readLogs }: Pick<Methods, "readLogs">): Methods["readLogs"] => {
  let knowsWait = true;
  return async (request, options) => {
    if (!knowsWait) return readLogs(request, options);
    try {
      return await readLogs({ ...request, wait: WAIT_SECONDS }, options);
    } catch (error) {
      if (!(error instanceof ApiError && error.issues.some(({ field }) => field === "wait"))) throw error;
      knowsWait = false;
      return readLogs(request, options);
    }
  };
};

/** Returns a function that reads a page. After a temporary error, the function waits and returns undefined. */
const pageReader = (client: Methods, request: FollowRequest, limit: number, signal: AbortSignal): ReadPage => {
  const readLogs = waitingReadLogs(client);
  let failures = 0;
  return async (since) => {
    try {
      const page = await readLogs({ ...request, limit, since }, { signal });
      failures = 0;
      return page;
    } catch (error) {
      signal.throwIfAborted();
      if (!isTemporary(error)) throw error;
      await wait(retryPause(error, Math.min(BACKOFF_MAX_MS, BACKOFF_MS * 2 ** failures)), signal);
      failures += 1;
      return undefined;
    }
  };
};

/** Creates a client on a transport. */
export const clientOn = (send: Send): Client => {
  const resume =
    (signal: AbortSignal | undefined) =>
    ({ deploy_id, after }: StreamPosition): Promise<Response> =>
      send("GET", `/v1/deploy/${encodeURIComponent(deploy_id)}?after=${after}`, { signal });

  const records = (response: Response, { signal }: RequestOptions) =>
    followRecords(resume(signal), response, undefined, signal);

  async function* followDeploy(request: Raw, { signal }: RequestOptions): AsyncGenerator<DeployEvent> {
    const { deploy_id, after = 0 } = request as { deploy_id: string; after?: number };
    const position = { deploy_id, after };
    yield* followRecords(resume(signal), await resume(signal)(position), position, signal);
  }

  const call = async (
    name: string,
    { method, path, kind }: Operation,
    request: Raw | undefined,
    options: RequestOptions,
  ): Promise<unknown> => {
    const { signal } = options;
    if (kind === "deploy" || kind === "plan") {
      const { source_archive, ...fields } = request ?? {};
      const body = formBody(fields, source_archive as Source | undefined);
      const response = await send(method, path, { body, signal });
      return kind === "deploy" ? records(response, options) : readJson(response, signal);
    }
    const response = await (method === "GET"
      ? send(method, withQuery(path, request ?? {}), { signal })
      : send(method, path, { json: request, signal }));
    if (kind === "redeploy") return records(response, options);
    const read = (readers as Record<string, ((body: unknown, headers: Headers) => unknown) | undefined>)[name];
    const body = await readJson(response, signal);
    return read === undefined ? body : read(body, response.headers);
  };

  const methodOf = (name: string, operation: Operation) =>
    operation.kind === "resume"
      ? (request: Raw, options: RequestOptions = {}) => followDeploy(request, options)
      : operation.fields
        ? (request: Raw = {}, options: RequestOptions = {}) => call(name, operation, request, options)
        : (options: RequestOptions = {}) => call(name, operation, undefined, options);

  // The cast is safe, because `methodOf` implements each method as its endpoint's type requires.
  const methods = Object.fromEntries(
    Object.entries(operations).map(([name, operation]) => [name, methodOf(name, operation)]),
  ) as unknown as Methods;

  async function* followLogs(request: FollowRequest, options: RequestOptions = {}) {
    const { signal = new AbortController().signal } = options;
    const { limit = fieldLimits.logs.max } = request;
    const read = pageReader(methods, request, limit, signal);
    yield* followLog(read, { since: request.since ?? undefined, limit, signal, now: () => performance.now(), wait });
    signal.throwIfAborted();
  }

  return { ...methods, followLogs };
};

/**
 * Creates a client of the HTTP API.
 *
 * ```ts
 * const client = createClient({ url: "https://api.example.com", key });
 * for await (const { message } of await client.restartDeployment({ name: "my-app" })) console.log(message);
 * ```
 */
export const createClient = (options: ClientOptions): Client => clientOn(createTransport(options));
