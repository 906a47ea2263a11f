/** The server's side of the engine's socket: calls an engine in another process. */
import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { InstanceStatus } from "../../../../core/domain/deploy/instance-status.ts";
import type { DeployFailure } from "../../../../core/domain/deploy/reason.ts";
import { isWritable } from "../../../../core/domain/logs/entry.ts";
import { unavailable } from "../../../../core/errors.ts";
import { ResultAsync } from "../../../../core/result.ts";
import { INTERRUPTED } from "../../../shared/deploy/rollout-ends.ts";
import { TooManyFires } from "../../schedules/too-many-fires.ts";
import type { AppliedState } from "../engine.ts";
import type { EngineConnection } from "../open-engine.ts";
import { caller, EngineUnreachable } from "./caller.ts";
import { greeting, PROTOCOL, TOO_MANY_FIRES } from "./protocol.ts";
import { clientPath, socketPath } from "./socket-path.ts";

const greet = async (answer: unknown) => {
  const greeted = greeting.safeParse(answer);
  if (!greeted.success)
    throw new Error("The socket belongs to another program, or to a different version of the engine.");
  const { protocol, ...ports } = greeted.data;
  if (protocol === PROTOCOL) return ports;
  throw new Error(
    `The engine speaks version ${protocol} of its protocol, but this server speaks version ${PROTOCOL}. Restart Portside so that both have the same version.`,
  );
};

/**
 * Asks the engine of a data folder to replace itself with a new process. Returns the new process id. Throws
 * `EngineUnreachable` if this process cannot connect to an engine or the engine ends during the call, `UnknownCall` if
 * the engine is too old for upgrades, and an `Error` with the reason if the upgrade failed and the engine keeps
 * running.
 * @param say receives the progress
 */
export const requestUpgrade = async (dataDir: string, say: (message: string) => void): Promise<number> => {
  const agent = new Agent();
  try {
    return (await caller(agent, clientPath(socketPath(dataDir)))("upgrade", {}, { say })) as number;
  } catch (cause) {
    if (!(cause instanceof Error && "code" in cause)) throw cause;
    throw new EngineUnreachable("The engine's socket cannot be found.", { cause });
  } finally {
    agent.destroy();
  }
};

/**
 * How long a failed call waits for the end of the session, so that `onEnd` runs first. When an engine ends, all of its
 * connections close within this time.
 */
const CLOSE_MS = 1000;

/**
 * Connects to an engine in another process. Throws if no engine listens at the path, or if the engine uses a different
 * version of the protocol.
 * @param onEnd called when the engine has ended, and before its interrupted calls are rejected. A server that must not
 * report these failures can exit here.
 */
export const connectEngine = async (
  path: string,
  onEnd: () => void = () => undefined,
): Promise<EngineConnection & Disposable> => {
  const agent = new Agent({ keepAlive: true });
  const callNow = caller(agent, path);
  const closed = new AbortController();
  const ports = await greet(await callNow("hello", {}));
  const opened = Promise.withResolvers<void>();
  const session = callNow("session", {}, { signal: closed.signal, say: () => opened.resolve() });
  await Promise.race([opened.promise, session]);
  const ended = session
    .catch(() => undefined)
    .then(() => {
      if (!closed.signal.aborted) onEnd();
    });
  const call: typeof callNow = async (...args) => {
    try {
      return await callNow(...args);
    } catch (error) {
      if (error instanceof EngineUnreachable) await Promise.race([ended, sleep(CLOSE_MS)]);
      throw error;
    }
  };
  return {
    ...ports,
    engine: {
      start: async (candidate, { listenMillis, signal, say }) => {
        try {
          const failure = await call("start", { candidate, listenMillis }, { signal, say });
          return (failure ?? undefined) as DeployFailure | undefined;
        } catch (cause) {
          if (signal.aborted) return INTERRUPTED;
          throw cause;
        }
      },
      end: async (candidate) => void (await call("end", { candidate })),
      apply: async () => (await call("apply", {})) as AppliedState,
      fire: async (service, fireId) => {
        const result = await call("fire", { service, fireId });
        if (result === TOO_MANY_FIRES) throw new TooManyFires();
        return result === true;
      },
      instances: async (service) => (await call("instances", { service })) as readonly InstanceStatus[],
    },
    logs: {
      append: (entries) => {
        const refused = unavailable("The log cannot be written. Try again.", 5);
        const work = call("append", { entries: entries.filter(isWritable) }).then((isStored) => {
          if (isStored !== true) throw new Error("the engine could not write the log");
        });
        return ResultAsync.fromPromise(work, () => refused);
      },
      writeAll: async (owner) => void (await call("writeAll", { owner })),
      nextEntry: async ({ owner, service: name }, signal) =>
        void (await call("nextEntry", { service: { owner, name } }, { signal })),
      repair: async (owner, damaged) => void (await call("repair", { owner, damaged })),
    },
    checkFiles: async () => void (await call("checkFiles", {})),
    metrics: () => call("metrics", {}),
    losesLogs: async () => (await call("losesLogs", {})) === true,
    [Symbol.dispose]: () => {
      closed.abort();
      agent.destroy();
    },
  };
};
