/** AWS SDK errors: a transient error never counts as a bug and is never retried without end. */
import { expect, test, vi } from "vitest";
import { type AwsClients, clientSource } from "../../../adapters/aws/clients.ts";
import { awsFault } from "../../../adapters/aws/errors.ts";
import { jsonProtocol } from "../../fakes/aws/protocols.ts";
import { serveAws } from "../../fakes/aws/server.ts";
import { Faults } from "../../fakes/faults.ts";

const error = (fields: object) => Object.assign(new Error("as a client throws it"), fields);

// NODEJS_TIMEOUT_ERROR_CODES and NODEJS_NETWORK_ERROR_CODES of @smithy/core's service-error-classification.
const connections = ["ECONNRESET", "ECONNREFUSED", "EPIPE", "ETIMEDOUT"];
const networks = ["EHOSTUNREACH", "ENETUNREACH", "ENOTFOUND", "EAI_AGAIN"];

test.each([...connections, ...networks])("a connection error %s is transient", (code) => {
  expect(awsFault(error({ code }))).toEqual({ kind: "busy" });
});

// TRANSIENT_ERROR_CODES, and the errors that S3's model says to retry, although their status blames the caller.
test.each([
  ["TimeoutError", 400],
  ["RequestTimeout", 400],
  ["RequestTimeoutException", 400],
  ["ConditionalRequestConflict", 409],
])("%s is transient", (name, httpStatusCode) => {
  expect(awsFault(error({ name, $metadata: { httpStatusCode } }))).toEqual({ kind: "busy" });
});

test("an error without an AWS name is a bug", () => {
  expect(awsFault(new TypeError("undefined is not a function"))).toBeUndefined();
});

interface Handler {
  handle(request: object): Promise<unknown>;
  httpHandlerConfigs(): object;
}

const names: readonly (keyof AwsClients)[] = ["ecs", "balancer", "scaling", "builds", "s3", "files", "scheduler"];

test("every call has a timeout for the connection and the response", async () => {
  const server = await serveAws(new Faults(), jsonProtocol({}));
  for (const name of ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]) vi.stubEnv(name, "fake");
  vi.stubEnv("AWS_ENDPOINT_URL", server.endpoint);
  const clients = clientSource("eu-west-1");
  try {
    for (const name of names) {
      const { requestHandler } = (await clients(name)).config as unknown as { requestHandler: Handler };
      const request = { hostname: "127.0.0.1", port: new URL(server.endpoint).port, protocol: "http:" };
      // The handler shows its configuration only after it has sent something.
      await requestHandler.handle({ ...request, method: "GET", path: "/", headers: {} }).catch(() => 0);
      expect(requestHandler.httpHandlerConfigs(), name).toMatchObject({
        connectionTimeout: 5000,
        socketTimeout: 60_000,
      });
    }
  } finally {
    vi.unstubAllEnvs();
    await server.close();
  }
});
