/** Starts programs that need a free port as an argument. Retries with a different port after a conflict. */
import type { ChildProcess } from "node:child_process";
import { freePort } from "../../../adapters/local/instances/free-port.ts";

const answers = async (url: string, child: ChildProcess): Promise<boolean> => {
  while (child.exitCode === null && child.signalCode === null) {
    const up = await fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );
    if (up) return true;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return false;
};

/** @param path a path at which only this program responds with 2xx, once it has started */
export const startOnFreePort = async (
  start: (port: number) => ChildProcess,
  path: string,
): Promise<{ readonly child: ChildProcess; readonly url: string }> => {
  for (let tries = 0; tries < 5; tries++) {
    const port = await freePort();
    const child = start(port);
    const url = `http://127.0.0.1:${port}`;
    if (await answers(`${url}${path}`, child)) return { child, url };
  }
  throw new Error("the program exited five times before it responded");
};
