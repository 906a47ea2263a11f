/** The engine's side of the socket: answers the calls of the server, of another engine and of `portside upgrade`. */
import { once } from "node:events";
import { chmodSync, rmSync, symlinkSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { z } from "zod";
import type { Logger } from "../../../../core/ports/system.ts";
import { TooManyFires } from "../../schedules/too-many-fires.ts";
import type { OpenedEngine } from "../open-engine.ts";
import type { Candidate } from "../reconcile.ts";
import { type CallName, type greeting, type InputOf, inputs, MAX_BODY, PROTOCOL, TOO_MANY_FIRES } from "./protocol.ts";
import { locateSocket } from "./socket-path.ts";

/** How long a candidate may wait for the commit of its rollout after its server has disconnected. */
const ABANDONED_MS = 10_000;

/** The open response of a call. `signal` aborts when the response closes, and `say` sends progress. */
interface Call {
  readonly signal: AbortSignal;
  readonly say: (message: string) => void;
}

type Handlers = { readonly [Name in CallName]: (input: InputOf<Name>, call: Call) => Promise<unknown> };

/**
 * Replaces the engine with a new process, and returns the new process id. Throws an `UpgradeFailed` if the engine
 * continues instead.
 * @param say reports progress
 */
export type Upgrade = (say: (message: string) => void) => Promise<number>;

/** Thrown if the new process cannot replace the engine. The engine then continues. */
export class UpgradeFailed extends Error {}

/** The part of an engine that the server and other engines call. */
export type ServedEngine = Pick<
  OpenedEngine,
  "ingressPort" | "storagePort" | "tlsPort" | "httpPort" | "httpsApi" | "checkFiles" | "losesLogs" | "metrics"
> & {
  readonly engine: Pick<OpenedEngine["engine"], "start" | "end" | "apply" | "instances" | "fire" | "candidates">;
  readonly logs: Pick<OpenedEngine["logs"], "append" | "writeAll" | "nextEntry" | "repair">;
  readonly lease: Pick<OpenedEngine["lease"], "receive">;
  /** Replaces this engine with a new process. Returns the new process id. */
  readonly upgrade: Upgrade;
};

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });

const addressesOf = ({
  ingressPort,
  storagePort,
  tlsPort,
  httpPort,
  httpsApi,
}: Pick<ServedEngine, "ingressPort" | "storagePort" | "tlsPort" | "httpPort" | "httpsApi">) => ({
  ingressPort,
  storagePort,
  ...(tlsPort === undefined ? {} : { tlsPort }),
  ...(httpPort === undefined ? {} : { httpPort }),
  ...(httpsApi === undefined ? {} : { httpsApi }),
});

const handlersOf = (
  { engine, logs, lease, checkFiles, losesLogs, metrics, upgrade, ...addresses }: ServedEngine,
  onSessionEnd: () => void,
): Handlers => ({
  hello: async () => ({ protocol: PROTOCOL, ...addressesOf(addresses) }) satisfies z.infer<typeof greeting>,
  session: async (_input, { signal, say }) => {
    say("open");
    await aborted(signal);
    onSessionEnd();
  },
  start: async ({ candidate, listenMillis }, { signal, say }) =>
    (await engine.start(candidate, { listenMillis, signal, say })) ?? null,
  end: async ({ candidate }) => engine.end(candidate),
  apply: async () => engine.apply(),
  fire: async ({ service, fireId }) => {
    try {
      return await engine.fire(service, fireId);
    } catch (cause) {
      if (cause instanceof TooManyFires) return TOO_MANY_FIRES;
      throw cause;
    }
  },
  instances: async ({ service }) => engine.instances(service),
  append: async ({ entries }) => (await logs.append(entries)).isOk(),
  writeAll: async ({ owner }) => logs.writeAll(owner),
  nextEntry: async ({ service: { owner, name: service } }, { signal }) => logs.nextEntry({ owner, service }, signal),
  repair: async ({ owner, damaged }) => logs.repair(owner, damaged),
  checkFiles: async () => checkFiles(),
  losesLogs: async () => losesLogs(),
  metrics: async () => metrics(),
  push: async (batch) => lease.receive(batch),
  upgrade: async (_input, { say }) => upgrade(say),
});

class Rejected extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const readBody = async (request: IncomingMessage): Promise<unknown> => {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > MAX_BODY) throw new Rejected(413, `The message is larger than ${MAX_BODY} bytes.`);
    parts.push(part);
  }
  try {
    return JSON.parse(Buffer.concat(parts).toString());
  } catch {
    throw new Rejected(400, "The message is not JSON.");
  }
};

const callOf = (request: IncomingMessage): CallName => {
  const name = (request.url ?? "").slice(1);
  if (request.method !== "POST" || !Object.hasOwn(inputs, name))
    throw new Rejected(404, "The engine has no such call.");
  return name as CallName;
};

/**
 * Answers one call. Each line of the response is JSON: progress as `{ say }`, and finally `{ result }` or `{ error }`.
 */
const answer = async (handlers: Handlers, request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const ended = new AbortController();
  response.once("close", () => ended.abort());
  const write = (line: object) => {
    if (!response.destroyed) response.write(`${JSON.stringify(line)}\n`);
  };
  const name = callOf(request);
  const parsed = inputs[name].safeParse(await readBody(request));
  if (!parsed.success) throw new Rejected(400, `The input of '${name}' is not valid.`);
  const handler = handlers[name] as (input: unknown, call: Call) => Promise<unknown>;
  const result = await handler(parsed.data, { signal: ended.signal, say: (message) => write({ say: message }) });
  write({ result: result ?? null });
  response.end();
};

const fail = (response: ServerResponse, logger: Logger, cause: unknown): void => {
  const rejected = cause instanceof Rejected || cause instanceof UpgradeFailed;
  if (!rejected) logger.error("a call to the engine failed", { cause });
  if (!response.headersSent) response.statusCode = cause instanceof Rejected ? cause.status : 500;
  const message = rejected ? cause.message : "The engine failed. Its log has the cause.";
  response.end(`${JSON.stringify({ error: message })}\n`);
};

/**
 * After `ABANDONED_MS`, ends the candidates of a server that has disconnected. Candidates whose rollout was committed
 * have joined their services by then.
 */
const abandonCandidates = (engine: ServedEngine["engine"], logger: Logger): NodeJS.Timeout => {
  const left: readonly Candidate[] = engine.candidates;
  const end = (candidate: Candidate) =>
    engine.end(candidate).catch((cause: unknown) => logger.error("could not end an instance", { ...candidate, cause }));
  return setTimeout(() => left.forEach((candidate) => void end(candidate)), ABANDONED_MS).unref();
};

export interface EngineSocket extends AsyncDisposable {
  readonly path: string;
  /** Stops accepting connections and removes the socket's file. Open connections stay open. */
  stopListening(): void;
}

/**
 * Serves the engine on a Unix socket that only this user can connect to.
 * @param wanted the path of the socket, in a folder that only this user can open. If the path is too long for a socket,
 * the socket is created in a new temporary folder, and `wanted` becomes a symbolic link to it.
 */
export const serveEngine = async (served: ServedEngine, wanted: string, logger: Logger): Promise<EngineSocket> => {
  const { path, remove } = await locateSocket(wanted);
  const timers = new Set<NodeJS.Timeout>();
  const handlers = handlersOf(served, () => timers.add(abandonCandidates(served.engine, logger)));
  const server = createServer({ requestTimeout: 0, keepAliveTimeout: 0 }, (request, response) => {
    answer(handlers, request, response).catch((cause: unknown) => fail(response, logger, cause));
  });
  // A killed engine leaves its socket file. The data folder's lock ensures that no other engine uses the file.
  rmSync(wanted, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, resolve);
  });
  chmodSync(path, 0o600);
  if (path !== wanted) symlinkSync(path, wanted);
  const closed = once(server, "close").then(remove);
  return {
    path,
    stopListening: () => void server.close(),
    [Symbol.asyncDispose]: async () => {
      for (const timer of timers) clearTimeout(timer);
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
};
