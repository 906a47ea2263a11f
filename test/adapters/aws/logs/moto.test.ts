/**
 * The contract tests of logs and schedules, on moto, which is independent of our fakes.
 *
 * moto 5.2.5's FilterLogEvents lacks `startFromHead` and `logStreamNamePrefix`. The test emulates both on top of a
 * listing of everything. So the search suite, which tests listings, runs only on our own fake.
 */
import type * as Sdk from "@aws-sdk/client-cloudwatch-logs";
import type {
  CloudWatchLogsClient,
  FilteredLogEvent,
  FilterLogEventsCommandInput,
} from "@aws-sdk/client-cloudwatch-logs";
import { afterAll, beforeAll, describe, test } from "vitest";
import type { AwsClients } from "../../../../adapters/aws/clients.ts";
import { createAwsLogs } from "../../../../adapters/aws/logs/store.ts";
import { awsCron } from "../../../../adapters/aws/schedules/capabilities.ts";
import { createAwsScheduler } from "../../../../adapters/aws/schedules/scheduler.ts";
import { memoryCapabilities } from "../../../../adapters/memory/capabilities.ts";
import { fixedClients, providerWith, runtimeDeps } from "../../../clouds/subject.ts";
import { appliesTo } from "../../../contracts/harness.ts";
import { logStoreCases, type ProviderSubject, schedulerCases } from "../../../contracts/index.ts";
import { startMoto } from "../../../fakes/aws/moto.ts";
import { clientOptions } from "../../../fakes/aws/protocols.ts";
import { awsConfig } from "../../../fakes/aws/test-config.ts";
import { has, needs } from "../../../support/vitest/machine.ts";

let moto: Awaited<ReturnType<typeof startMoto>> | undefined;
let subject: ProviderSubject | undefined;

type Send = CloudWatchLogsClient["send"];

const withListings = (client: CloudWatchLogsClient, { FilterLogEventsCommand }: typeof Sdk): CloudWatchLogsClient => {
  const listed = async (input: FilterLogEventsCommandInput) => {
    const { logStreamNamePrefix = "", startFromHead = true, nextToken, limit = 10_000, ...rest } = input;
    const all: FilteredLogEvent[] = [];
    let token: string | undefined;
    do {
      const more = token === undefined ? {} : { nextToken: token };
      const page = await client.send(new FilterLogEventsCommand({ ...rest, ...more, interleaved: true }));
      all.push(
        ...(page.events ?? []).filter(({ logStreamName = "" }) => logStreamName.startsWith(logStreamNamePrefix)),
      );
      token = page.nextToken;
    } while (token !== undefined);
    const ordered = startFromHead ? all : all.toReversed();
    const [from, to] = [Number(nextToken ?? 0), Number(nextToken ?? 0) + limit];
    return { events: ordered.slice(from, to), ...(to < all.length ? { nextToken: String(to) } : {}) };
  };
  const send = (command: { readonly input: FilterLogEventsCommandInput }) =>
    command instanceof FilterLogEventsCommand ? listed(command.input) : client.send(command as Parameters<Send>[0]);
  return { send } as unknown as CloudWatchLogsClient;
};

beforeAll(async () => {
  if (!has("moto")) return;
  moto = await startMoto();
  const settings = clientOptions(moto.endpoint);
  const sdk = await import("@aws-sdk/client-cloudwatch-logs");
  const { CreateScheduleGroupCommand, SchedulerClient } = await import("@aws-sdk/client-scheduler");
  const [logs, scheduler] = [new sdk.CloudWatchLogsClient(settings), new SchedulerClient(settings)];
  await logs.send(new sdk.CreateLogGroupCommand({ logGroupName: awsConfig.shared.logGroup }));
  await scheduler.send(new CreateScheduleGroupCommand({ Name: "portside" }));
  const clients = fixedClients<AwsClients>({ logs: withListings(logs, sdk), scheduler });
  subject = providerWith("aws", {
    logs: createAwsLogs(awsConfig, clients, runtimeDeps()),
    scheduler: createAwsScheduler(awsConfig, clients, runtimeDeps()),
  });
}, 120_000);
afterAll(() => moto?.close());

describe("moto's server", () => {
  const scheduled = schedulerCases.filter((one) => appliesTo(one, { ...memoryCapabilities, cron: awsCron }));
  for (const { group, name, run } of [...scheduled, ...logStoreCases])
    test(`${group}: ${name}`, async (context) => {
      needs(context, "moto");
      await run(subject as ProviderSubject);
    });
});
