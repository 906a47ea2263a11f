/** Cloud Logging over gRPC. */
import { Faults } from "../../faults.ts";
import { clientOptions, serveGrpc } from "../grpc.ts";
import { PROJECT } from "../test-project.ts";
import { createLoggingService, type FakeLoggingOptions } from "./service.ts";

export const startFakeLogging = async (options: FakeLoggingOptions) => {
  const faults = new Faults();
  const { write, list, ...service } = createLoggingService(options);
  const handlers = { WriteLogEntries: write, ListLogEntries: list };
  const services = { "google.logging.v2.LoggingServiceV2": handlers };
  const server = await serveGrpc("@google-cloud/logging-api", services, faults);
  const { v2 } = await import("@google-cloud/logging");
  const clientSettings = clientOptions(server, PROJECT);
  const client = new v2.LoggingServiceV2Client(clientSettings);
  return {
    ...service,
    faults,
    client,
    clientSettings,
    close: async () => {
      await client.close();
      server.close();
    },
  };
};

export type FakeLogging = Awaited<ReturnType<typeof startFakeLogging>>;
