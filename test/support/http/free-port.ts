/** Free ports, and programs that need one as an argument: they start again on another port after a conflict. */
import type { ChildProcess } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** A free loopback port below 32768, where the kernel's ephemeral ports begin. */
export const freePort = async (): Promise<number> => {
  const port = randomInt(20_000, 32_000);
  const probe = createServer().listen(port, "127.0.0.1");
  const free = await once(probe, "listening").then(
    () => true,
    () => false,
  );
  await new Promise((resolve) => probe.close(resolve));
  return free ? port : freePort();
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

/** @param path answered with a 2xx only by this program, once it is up */
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
