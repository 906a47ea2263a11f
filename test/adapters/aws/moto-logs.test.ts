/**
 * What is kept in CloudWatch Logs and EventBridge Scheduler keeps its promises in moto, too, which others have written.
 *
 * Of FilterLogEvents moto 5.2.5 knows neither `startFromHead` nor `logStreamNamePrefix`: both are made here of what it
 * answers to one listing of everything. So the suite of searches, which is about listings, is our own fake's alone.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type * as Sdk from "@aws-sdk/client-cloudwatch-logs";
import type {
  CloudWatchLogsClient,
  FilteredLogEvent,
  FilterLogEventsCommandInput,
} from "@aws-sdk/client-cloudwatch-logs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createAwsLogs } from "../../../adapters/aws/logs/store.ts";
import { createAwsScheduler } from "../../../adapters/aws/scheduler/scheduler.ts";
import { logStoreCases, type ProviderSubject, schedulerCases } from "../../contracts/index.ts";
import { clientSettings } from "../../fakes/aws/json-server.ts";
import { awsConfig } from "../../fakes/aws/test-config.ts";
import { has, motoServer, needs } from "../../support/machine.ts";
import { ambientOf, givenClients, providerWith } from "./subject.ts";

let moto: ChildProcess | undefined;
let subject: ProviderSubject | undefined;

const freePort = async (): Promise<number> => {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
};

const answers = async (url: string): Promise<void> => {
  for (let tries = 0; tries < 400 && moto?.exitCode === null; tries++) {
    if (
      await fetch(`${url}/moto-api/data.json`).then(
        ({ ok }) => ok,
        () => false,
      )
    )
      return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("moto's server did not start");
};

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
  const port = await freePort();
  moto = spawn(motoServer, ["-H", "127.0.0.1", "-p", String(port)], { stdio: "ignore" });
  const settings = clientSettings(`http://127.0.0.1:${port}`);
  await answers(settings.endpoint);
  const sdk = await import("@aws-sdk/client-cloudwatch-logs");
  const { CreateScheduleGroupCommand, SchedulerClient } = await import("@aws-sdk/client-scheduler");
  const [logs, scheduler] = [new sdk.CloudWatchLogsClient(settings), new SchedulerClient(settings)];
  await logs.send(new sdk.CreateLogGroupCommand({ logGroupName: awsConfig.shared.logGroup }));
  await scheduler.send(new CreateScheduleGroupCommand({ Name: "portside" }));
  const clients = givenClients({ logs: withListings(logs, sdk), scheduler });
  subject = providerWith({
    logs: createAwsLogs(awsConfig, clients, ambientOf()),
    scheduler: createAwsScheduler(awsConfig, clients, ambientOf()),
  });
}, 60_000);
afterAll(() => moto?.kill("SIGKILL"));

/** What moto does otherwise than the services' models say, by the case that it breaks. */
const gaps: ReadonlyMap<string, string> = new Map([]);

describe("moto's server", () => {
  for (const { group, name, run } of [...schedulerCases, ...logStoreCases])
    test(`${group}: ${name}`, async (context) => {
      needs(context, "moto");
      const done = run(subject as ProviderSubject);
      const gap = gaps.get(name);
      // One that is filled is to be taken off the list.
      if (gap === undefined) await done;
      else await expect(done, gap).rejects.toThrow();
    });
});
