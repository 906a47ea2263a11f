/** Free ports, and programs that can only be told theirs: on another one where somebody took it meanwhile. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";

/** A loopback port that nobody has now. */
export const freePort = async (): Promise<number> => {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
};

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

/** @param path is answered with a 2xx by nobody else, once the program is up */
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
  throw new Error("the program ended five times before it answered");
};
