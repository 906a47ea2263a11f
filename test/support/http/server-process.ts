/** Starts the API in a child process and stops it at the end of the test. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { folderWith } from "../archives/folders.ts";

export interface ServerProcess extends AsyncDisposable {
  readonly url: string;
  /** All lines of its log. */
  readonly log: () => string;
  key(account?: string): Promise<string>;
  /**
   * The server's peak memory in bytes since the last call, without garbage. Samples every 50 ms after the first call.
   */
  held(): Promise<number>;
  spooled(): Promise<string[]>;
}

export const startServer = async (level: "silent" | "debug" = "silent"): Promise<ServerProcess> => {
  const folder = folderWith();
  const child = fork(fileURLToPath(new URL("server-child.ts", import.meta.url)), [folder.path, level], {
    execArgv: ["--expose-gc"],
    stdio: ["ignore", "inherit", "pipe", "ipc"],
  });
  let log = "";
  child.stderr?.on("data", (chunk) => {
    log += chunk;
  });
  const answer = async (): Promise<unknown> => {
    const [message] = await Promise.race([
      once(child, "message"),
      once(child, "exit").then(() => Promise.reject(new Error(`the server ended: ${log}`))),
    ]);
    return message;
  };
  const ask = (question: object): Promise<unknown> => {
    const answered = answer();
    child.send(question);
    return answered;
  };
  const port = await answer();
  return {
    url: `http://127.0.0.1:${port}`,
    log: () => log,
    key: async (account) => (await ask({ ask: "key", account })) as string,
    held: async () => (await ask({ ask: "held" })) as number,
    spooled: () => readdir(folder.path),
    [Symbol.asyncDispose]: async () => {
      const ended = once(child, "exit");
      child.kill();
      await ended;
      folder[Symbol.dispose]();
    },
  };
};
