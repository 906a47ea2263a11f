/** moto's server (https://github.com/getmoto/moto), which others have written: many of Amazon's services on one port. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const freePort = async (): Promise<number> => {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
};

export interface Moto {
  readonly url: string;
  close(): void;
}

/** @param program moto_server */
export const startMoto = async (program: string): Promise<Moto> => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = spawn(program, ["-H", "127.0.0.1", "-p", String(port)], { stdio: "ignore" });
  for (let tries = 0; tries < 300 && child.exitCode === null; tries++) {
    const up = await fetch(`${url}/moto-api/`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (up) return { url, close: () => void child.kill("SIGKILL") };
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  child.kill("SIGKILL");
  throw new Error("moto's server did not start");
};
