/** Starts moto's server (https://docs.getmoto.org/en/latest/docs/server_mode.html), an independent implementation of AWS. */
import { spawn } from "node:child_process";
import { startOnFreePort } from "../../support/http/free-port.ts";
import { motoServer } from "../../support/vitest/machine.ts";
import { REGION } from "./test-config.ts";

/** Returns its endpoint and a way to stop it. */
export const startMoto = async () => {
  const { child, url: endpoint } = await startOnFreePort(
    (port) => spawn(motoServer, ["-H", "127.0.0.1", "-p", String(port)], { stdio: "ignore" }),
    "/moto-api/",
  );
  return {
    endpoint,
    /** Calls EC2 over the query protocol, because the platform has no EC2 client. Returns the response's XML. */
    ec2: async (action: string): Promise<string> => {
      const authorization = `AWS4-HMAC-SHA256 Credential=fake/20260101/${REGION}/ec2/aws4_request, SignedHeaders=host, Signature=0`;
      const body = new URLSearchParams({ Action: action, Version: "2016-11-15" });
      return (await fetch(endpoint, { method: "POST", body, headers: { authorization } })).text();
    },
    close: () => void child.kill("SIGKILL"),
  };
};
