/** Makes calls to an engine over its socket. */
import { type Agent, type IncomingMessage, request } from "node:http";
import type { CallName, InputOf } from "./protocol.ts";

/** Thrown if the engine did not complete a call. */
export class EngineUnreachable extends Error {}

/** Thrown if the engine is too old for the call. */
export class UnknownCall extends Error {}

interface Call {
  readonly signal?: AbortSignal | undefined;
  readonly say?: (message: string) => void;
}

interface Line {
  readonly say?: string;
  readonly result?: unknown;
  readonly error?: string;
}

const open = (agent: Agent, path: string, name: CallName, input: unknown, signal: AbortSignal | undefined) => {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const headers = { "content-type": "application/json" };
  const sent = request({ agent, socketPath: path, path: `/${name}`, method: "POST", headers, signal }, resolve);
  sent.once("error", reject);
  sent.end(JSON.stringify(input));
  return promise;
};

async function* linesOf(response: IncomingMessage): AsyncGenerator<Line> {
  let rest = "";
  for await (const text of response.setEncoding("utf8") as AsyncIterable<string>) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line) as Line;
  }
}

/**
 * Returns a function that makes a call and returns its result. The function throws `EngineUnreachable` if the
 * connection ends first, `UnknownCall` if the engine does not have the call, and the signal's reason if the signal
 * aborts.
 */
export const caller = (agent: Agent, path: string) => {
  return async <Name extends CallName>(name: Name, input: InputOf<Name>, call: Call = {}): Promise<unknown> => {
    const { signal, say } = call;
    try {
      const response = await open(agent, path, name, input, signal);
      let last: Line | undefined;
      // The agent reuses the connection only if the response is read to its end.
      for await (const line of linesOf(response)) {
        if (line.say === undefined) last = line;
        else say?.(line.say);
      }
      if (response.statusCode === 404) throw new UnknownCall(last?.error);
      if (last?.error !== undefined) throw new Error(last.error);
      if (last !== undefined) return last.result;
      signal?.throwIfAborted();
    } catch (cause) {
      signal?.throwIfAborted();
      if (cause instanceof Error && !("code" in cause)) throw cause;
      throw new EngineUnreachable(`The engine does not answer the call '${name}'. It may have stopped.`, { cause });
    }
    throw new EngineUnreachable(`The engine ended during the call '${name}'.`);
  };
};
