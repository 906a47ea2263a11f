/** A fake CloudWatch Logs for build logs: only GetLogEvents of client-cloudwatch-logs. */
import { CloudWatchLogsClient } from "@aws-sdk/client-cloudwatch-logs";
import { Faults } from "../../faults.ts";
import { clientOptions, jsonProtocol, type Message } from "../protocols.ts";
import { recorded } from "../requests/recorder.ts";
import { AwsError, serveAws } from "../server.ts";

/** Smaller than the real page (1 MB or 10,000 events), so that tests read several pages. */
const PAGE = 25;

export const startBuildLogs = async () => {
  const faults = new Faults();
  const streams = new Map<string, string[]>();
  const keyOf = (group: string, stream: string): string => `${group}\n${stream}`;
  const methods = {
    GetLogEvents: ({ logGroupName, logStreamName, nextToken = "f/0" }: Message) => {
      const lines = streams.get(keyOf(logGroupName, logStreamName));
      if (lines === undefined)
        throw new AwsError("ResourceNotFoundException", "The specified log stream does not exist.");
      const from = Number(/^f\/(\d+)$/.exec(nextToken)?.[1] ?? Number.NaN);
      if (Number.isNaN(from)) throw new AwsError("InvalidParameterException", "The specified nextToken is invalid.");
      const events = lines.slice(from, from + PAGE).map((line) => ({ message: `${line}\n`, timestamp: 0 }));
      return { events, nextForwardToken: `f/${from + events.length}`, nextBackwardToken: "b/0" };
    },
  };
  const server = await serveAws(faults, jsonProtocol(methods));
  const client = recorded("logs", new CloudWatchLogsClient(clientOptions(server.endpoint)));
  return {
    faults,
    client,
    push: (group: string, stream: string, line: string): void => {
      const key = keyOf(group, stream);
      streams.set(key, [...(streams.get(key) ?? []), line]);
    },
    close: async () => {
      client.destroy();
      await server.close();
    },
  };
};
