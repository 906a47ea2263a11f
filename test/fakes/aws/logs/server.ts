/** CloudWatch Logs over HTTP. */
import { CloudWatchLogsClient } from "@aws-sdk/client-cloudwatch-logs";
import { Faults } from "../../faults.ts";
import { clientOptions, jsonProtocol } from "../protocols.ts";
import { recorded } from "../requests/recorder.ts";
import { serveAws } from "../server.ts";
import { createCloudWatchService, type FakeCloudWatchOptions } from "./service.ts";

export const startFakeCloudWatch = async (options: FakeCloudWatchOptions) => {
  const faults = new Faults();
  const { methods, ...service } = createCloudWatchService(options);
  const server = await serveAws(faults, jsonProtocol(methods, { service: "Logs_20140328" }));
  const settings = clientOptions(server.endpoint);
  const client = recorded("logs", new CloudWatchLogsClient(settings));
  return {
    ...service,
    faults,
    client,
    clientSettings: settings,
    close: async () => {
      client.destroy();
      await server.close();
    },
  };
};

export type FakeCloudWatch = Awaited<ReturnType<typeof startFakeCloudWatch>>;
