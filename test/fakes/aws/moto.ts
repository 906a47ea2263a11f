/**
 * Starts moto's server (https://docs.getmoto.org/en/latest/docs/server_mode.html), an independent implementation of
 * AWS.
 */
import { spawn } from "node:child_process";
import { CreateAccessKeyCommand, CreateUserCommand, IAMClient, PutUserPolicyCommand } from "@aws-sdk/client-iam";
import { startOnFreePort } from "../../support/http/free-port.ts";
import { motoServer } from "../../support/vitest/machine.ts";
import { clientOptions } from "./protocols.ts";
import type { Statement } from "./requests/judges.ts";
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
    /**
     * Creates a user with these statements and checks the permissions of all later calls. moto knows the resource of a
     * call only for S3, so the statements of other services apply to all resources.
     * https://docs.getmoto.org/en/latest/docs/iam.html
     */
    enforce: async (statements: readonly Statement[]): Promise<{ accessKeyId: string; secretAccessKey: string }> => {
      const iam = new IAMClient(clientOptions(endpoint));
      const UserName = "portside";
      await iam.send(new CreateUserCommand({ UserName }));
      const Statement = statements.map(({ actions, resources }) => ({
        Effect: "Allow",
        Action: actions,
        Resource: actions.every((action) => action.startsWith("s3:")) ? resources : "*",
      }));
      const PolicyDocument = JSON.stringify({ Version: "2012-10-17", Statement });
      await iam.send(new PutUserPolicyCommand({ UserName, PolicyName: "stack", PolicyDocument }));
      const { AccessKey } = await iam.send(new CreateAccessKeyCommand({ UserName }));
      await fetch(`${endpoint}/moto-api/reset-auth`, { method: "POST", body: "0" });
      iam.destroy();
      return { accessKeyId: AccessKey?.AccessKeyId ?? "", secretAccessKey: AccessKey?.SecretAccessKey ?? "" };
    },
    close: () => void child.kill("SIGKILL"),
  };
};
