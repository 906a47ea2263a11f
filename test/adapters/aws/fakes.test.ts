/** The fakes of logs, schedules and SQL match the service models when the official clients call them. */
import { GetQueryExecutionCommand, GetQueryResultsCommand, StartQueryExecutionCommand } from "@aws-sdk/client-athena";
import { CreateLogStreamCommand, FilterLogEventsCommand, PutLogEventsCommand } from "@aws-sdk/client-cloudwatch-logs";
import {
  CreateScheduleCommand,
  DeleteScheduleCommand,
  GetScheduleCommand,
  UpdateScheduleCommand,
} from "@aws-sdk/client-scheduler";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createManualClock } from "../../../adapters/memory/index.ts";
import { type FakeAthena, startFakeAthena } from "../../fakes/aws/athena/server.ts";
import { type FakeCloudWatch, startFakeCloudWatch } from "../../fakes/aws/logs/server.ts";
import { type FakeEventBridge, startFakeEventBridge } from "../../fakes/aws/scheduler/server.ts";
import { awsConfig } from "../../fakes/aws/test-config.ts";
import { eventually } from "../../support/vitest/eventually.ts";

const clock = createManualClock("2026-01-31T09:00:00Z");
const NOW = Date.parse("2026-01-31T09:00:00Z");
let logs: FakeCloudWatch;
let scheduler: FakeEventBridge;
let athena: FakeAthena;
beforeAll(async () => {
  logs = await startFakeCloudWatch({ clock });
  scheduler = await startFakeEventBridge({ clock });
  athena = await startFakeAthena({ events: logs.events, pageRows: 2 });
});
afterAll(() => Promise.all([logs.close(), scheduler.close(), athena.close()]));

const named = (name: string) => expect.objectContaining({ name });

describe("CloudWatch Logs", () => {
  const place = { logGroupName: "/portside/services", logStreamName: "a/b/c" };
  const put = (...events: readonly [number, string][]) =>
    logs.client.send(
      new PutLogEventsCommand({ ...place, logEvents: events.map(([timestamp, message]) => ({ timestamp, message })) }),
    );
  const filter = (input: object) =>
    logs.client.send(new FilterLogEventsCommand({ logGroupName: place.logGroupName, ...input }));

  test("creates streams once, and validates events", async () => {
    await expect(put([NOW, "x"])).rejects.toEqual(named("ResourceNotFoundException"));
    await logs.client.send(new CreateLogStreamCommand(place));
    const again = logs.client.send(new CreateLogStreamCommand(place));
    await expect(again).rejects.toEqual(named("ResourceAlreadyExistsException"));
    await put([NOW, "one"], [NOW + 1, "two"]);
    for (const wrong of [
      () => put([NOW, ""]),
      () => put([NOW + 1, "late"], [NOW, "early"]),
      () => put([NOW, "x".repeat(1_048_576)]),
      () => filter({ limit: 10_001 }),
      () => filter({ logStreamNamePrefix: "a", logStreamNames: ["a/b/c"] }),
      () => filter({ startFromHead: false, startTime: 0 }),
    ])
      await expect(wrong()).rejects.toEqual(named("InvalidParameterException"));
    const { rejectedLogEventsInfo } = await put(
      [NOW - 15 * 86_400_000, "old"],
      [NOW, "good"],
      [NOW + 3 * 3_600_000, "new"],
    );
    expect(rejectedLogEventsInfo).toEqual({ tooOldLogEventEndIndex: 1, tooNewLogEventStartIndex: 2 });
  });

  test("returns pages from either end, for the requested streams", async () => {
    const first = await filter({ limit: 2 });
    expect(first.events?.map(({ message }) => message)).toEqual(["one", "good"]);
    const rest = await filter({ limit: 2, nextToken: first.nextToken });
    expect(rest.events?.map(({ message }) => message)).toEqual(["two"]);
    expect(rest.nextToken).toBeUndefined();
    const back = await filter({ limit: 1, startFromHead: false, startTime: NOW });
    expect(back.events?.map(({ message }) => message)).toEqual(["two"]);
    expect((await filter({ logStreamNamePrefix: "b" })).events).toEqual([]);
  });

  test("injects faults before or after the effect", async () => {
    logs.faults.inject({ nth: 1, kind: "resource_exhausted" });
    await expect(put([NOW, "lost"])).rejects.toEqual(named("ThrottlingException"));
    logs.faults.inject({ nth: 1, kind: "permission_denied" });
    await expect(put([NOW, "lost"])).rejects.toEqual(named("AccessDeniedException"));
    logs.faults.inject({ nth: 1, kind: "reply_lost" });
    await expect(put([NOW, "kept but unheard"])).rejects.toThrow();
    const messages = (await filter({})).events?.map(({ message }) => message);
    expect(messages).toContain("kept but unheard");
    expect(messages).not.toContain("lost");
  });
});

describe("EventBridge Scheduler", () => {
  const { cronFunctionArn: Arn, schedulerRoleArn: RoleArn } = awsConfig.shared;
  const schedule = (change: object = {}) => ({
    Name: "one",
    GroupName: "portside",
    ScheduleExpression: "cron(0 4 * * ? *)",
    FlexibleTimeWindow: { Mode: "OFF" as const },
    Target: { Arn, RoleArn, Input: "{}" },
    ...change,
  });
  const create = (change?: object) => scheduler.client.send(new CreateScheduleCommand(schedule(change)));

  test("creates schedules once, with the documented defaults, updates and deletes them", async () => {
    await create();
    await expect(create()).rejects.toEqual(named("ConflictException"));
    const key = { Name: "one", GroupName: "portside" };
    expect(await scheduler.client.send(new GetScheduleCommand(key))).toMatchObject({
      State: "ENABLED",
      Target: { RetryPolicy: { MaximumRetryAttempts: 185, MaximumEventAgeInSeconds: 86_400 } },
    });
    await scheduler.client.send(new UpdateScheduleCommand(schedule({ State: "DISABLED" })));
    expect((await scheduler.client.send(new GetScheduleCommand(key))).State).toBe("DISABLED");
    await scheduler.client.send(new DeleteScheduleCommand(key));
    const gone = scheduler.client.send(new DeleteScheduleCommand(key));
    await expect(gone).rejects.toEqual(named("ResourceNotFoundException"));
    await expect(create({ GroupName: "another" })).rejects.toEqual(named("ResourceNotFoundException"));
  });

  test.each([
    { Name: "a b" },
    { ScheduleExpression: "cron(0 4 * * * *)" },
    { ScheduleExpression: "cron(0 4 ? * ? *)" },
    { ScheduleExpression: "cron(0 4 ? * 0 *)" },
    { ScheduleExpression: "0 4 * * *" },
    { ScheduleExpressionTimezone: "Mars/Olympus" },
    { Target: { Arn, RoleArn, Input: "no JSON" } },
    { Target: { Arn, RoleArn, RetryPolicy: { MaximumEventAgeInSeconds: 59 } } },
  ])("rejects %j", async (change) => {
    await expect(create(change)).rejects.toEqual(named("ValidationException"));
  });
});

describe("Athena", () => {
  const token = (n: number) => `a-token-of-thirty-two-characters-${n}`;
  const begin = (QueryString: string, ClientRequestToken: string, WorkGroup = "portside") =>
    athena.client.send(new StartQueryExecutionCommand({ QueryString, ClientRequestToken, WorkGroup }));
  const ended = async (id: string | undefined) =>
    eventually(async () => {
      const { QueryExecution } = await athena.client.send(new GetQueryExecutionCommand({ QueryExecutionId: id }));
      expect(["SUCCEEDED", "FAILED"]).toContain(QueryExecution?.Status?.State);
      return QueryExecution?.Status;
    });

  test("runs a query once per token, and returns its rows in pages after the column names", async () => {
    const query = "SELECT x, ARRAY[x] AS l FROM UNNEST(ARRAY[1, 2, 3]) AS t(x) ORDER BY x";
    const { QueryExecutionId: id } = await begin(query, token(1));
    expect((await begin(query, token(1))).QueryExecutionId).toBe(id);
    await expect(begin("SELECT 1 AS a", token(1))).rejects.toEqual(named("InvalidRequestException"));
    expect((await ended(id))?.State).toBe("SUCCEEDED");
    const page = async (NextToken?: string) =>
      athena.client.send(new GetQueryResultsCommand({ QueryExecutionId: id, ...(NextToken ? { NextToken } : {}) }));
    const first = await page();
    const texts = ({ ResultSet }: Awaited<ReturnType<typeof page>>) =>
      ResultSet?.Rows?.map(({ Data }) => Data?.map(({ VarCharValue }) => VarCharValue));
    expect(texts(first)).toEqual([
      ["x", "l"],
      ["1", "[1]"],
    ]);
    expect(texts(await page(first.NextToken))).toEqual([
      ["2", "[2]"],
      ["3", "[3]"],
    ]);
    expect(first.ResultSet?.ResultSetMetadata?.ColumnInfo?.map(({ Type }) => Type)).toEqual(["integer", "array"]);
  });

  test("reports why a query failed, and rejects invalid requests", async () => {
    const { QueryExecutionId: id } = await begin("SELECT nothing FROM (SELECT 1 AS a)", token(2));
    expect(await ended(id)).toMatchObject({ State: "FAILED", AthenaError: { ErrorCategory: 2, ErrorType: 1006 } });
    for (const wrong of [
      () => begin("SELECT 1 AS a", "short"),
      () => begin("SELECT 1 AS a", token(3), "another"),
      () => begin("x".repeat(262_145), token(4)),
    ])
      await expect(wrong()).rejects.toEqual(named("InvalidRequestException"));
  });
});
