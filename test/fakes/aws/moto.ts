/** moto's server (https://docs.getmoto.org/en/latest/docs/server_mode.html), which others have written. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { motoServer } from "../../support/machine.ts";
import { REGION } from "./protocols.ts";

const freePort = async (): Promise<number> => {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
};

/** Where it listens. */
export const startMoto = async () => {
  const port = await freePort();
  const child = spawn(motoServer, ["-H", "127.0.0.1", "-p", String(port)], { stdio: "ignore" });
  const endpoint = `http://127.0.0.1:${port}`;
  for (let tries = 0; ; tries++) {
    const up = await fetch(`${endpoint}/moto-api/`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (up) break;
    if (tries === 600 || child.exitCode !== null) throw new Error("moto did not start");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return {
    endpoint,
    /** A call of EC2's query protocol, of which no client is among the platform's: the answer's XML. */
    ec2: async (action: string): Promise<string> => {
      const authorization = `AWS4-HMAC-SHA256 Credential=fake/20260101/${REGION}/ec2/aws4_request, SignedHeaders=host, Signature=0`;
      const body = new URLSearchParams({ Action: action, Version: "2016-11-15" });
      return (await fetch(endpoint, { method: "POST", body, headers: { authorization } })).text();
    },
    close: () => void child.kill("SIGKILL"),
  };
};
