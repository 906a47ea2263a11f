/**
 * A fake EventBridge Scheduler over HTTP that fires schedules. Source: the service model of @aws-sdk/client-scheduler.
 */
import { SchedulerClient } from "@aws-sdk/client-scheduler";
import { nextFire } from "../../../../core/domain/schedules/fire-times.ts";
import { type Instant, millisOf } from "../../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../../core/ports/system.ts";
import { Faults } from "../../faults.ts";
import { clientOptions, jsonErrors, jsonFailed, jsonReply, type Message } from "../protocols.ts";
import { recorded } from "../requests/recorder.ts";
import { AwsError, type AwsMethod, type AwsRequest, type InjectedErrors, serveAws } from "../server.ts";
import { ACCOUNT, REGION } from "../test-config.ts";
import { invokeCron } from "./function.ts";
import { checkedSchedule, fiveFields } from "./rules.ts";

export interface FakeEventBridgeOptions {
  readonly clock: Clock;
  /** The client of the log that the function writes to. */
  readonly logs?: unknown;
  readonly groups?: readonly string[];
}

interface Kept {
  readonly schedule: Message;
  /** Aborts when the schedule is changed or deleted, because its next fires differ. */
  readonly stop: AbortController;
}

/** How often to check a clock that a test may advance. */
const NAP_MS = 15_000;

const errors: InjectedErrors = {
  ...jsonErrors,
  unavailable: new AwsError("InternalServerException", "Unexpected error (injected).", 500),
};

/** "For example, 2022-03-22T18:59:43Z": .../scheduler/latest/UserGuide/managing-schedule-context-attributes.html */
const timeText = (at: Instant): string => `${new Date(millisOf(at)).toISOString().slice(0, 19)}Z`;

export const startFakeEventBridge = async ({ clock, logs, groups = ["portside"] }: FakeEventBridgeOptions) => {
  const faults = new Faults();
  const schedules = new Map<string, Kept>();
  const running = new Set<Promise<unknown>>();
  const closed = new AbortController();
  const keyOf = (group: string, name: string) => `${group}/${name}`;

  /** The invocation is asynchronous, so Scheduler does not see the function's result. */
  const fire = ({ Target }: Message, at: Instant): void => {
    const text = String(Target.Input).replaceAll("<aws.scheduler.scheduled-time>", timeText(at));
    const run = invokeCron({ clock, logs }, JSON.parse(text));
    running.add(run);
    void run.finally(() => running.delete(run));
  };

  const follow = async ({ schedule, stop: { signal } }: Kept): Promise<void> => {
    const five = { cron: fiveFields(schedule.ScheduleExpression) ?? "", timezone: schedule.ScheduleExpressionTimezone };
    for (let due = nextFire(five, clock.now()); due !== undefined; due = nextFire(five, due)) {
      while (!signal.aborted && clock.now() < due)
        await clock.sleep(Math.min(millisOf(due) - millisOf(clock.now()), NAP_MS), signal);
      if (signal.aborted || closed.signal.aborted) return;
      fire(schedule, due);
    }
  };

  const keep = (schedule: Message): object => {
    const key = keyOf(schedule.GroupName, schedule.Name);
    schedules.get(key)?.stop.abort();
    const kept = { schedule, stop: new AbortController() };
    schedules.set(key, kept);
    if (schedule.State === "ENABLED") void follow(kept);
    return { ScheduleArn: `arn:aws:scheduler:${REGION}:${ACCOUNT}:schedule/${key}` };
  };

  const known = (group: string, name: string): Kept => {
    const kept = schedules.get(keyOf(group, name));
    if (kept === undefined) throw new AwsError("ResourceNotFoundException", `Schedule ${name} does not exist.`, 404);
    return kept;
  };

  const create = (name: string, body: Message): object => {
    const schedule = checkedSchedule(name, body);
    if (!["default", ...groups].includes(schedule.GroupName))
      throw new AwsError("ResourceNotFoundException", `Schedule group ${schedule.GroupName} does not exist.`, 404);
    if (schedules.has(keyOf(schedule.GroupName, name)))
      throw new AwsError("ConflictException", `Schedule ${name} already exists.`, 409);
    return keep(schedule);
  };

  const update = (name: string, body: Message): object => {
    const schedule = checkedSchedule(name, body);
    known(schedule.GroupName, name);
    return keep(schedule);
  };

  const remove = (group: string, name: string): object => {
    known(group, name).stop.abort();
    schedules.delete(keyOf(group, name));
    return {};
  };

  const route = ({ verb, path, query, body }: AwsRequest): AwsMethod | undefined => {
    const name = /^\/schedules\/([^/]+)$/.exec(path)?.[1];
    if (name === undefined) return undefined;
    const id = decodeURIComponent(name);
    const group = query.get("groupName") ?? "default";
    const input = () => JSON.parse(body.toString() || "{}");
    const methods: Readonly<Record<string, readonly [method: string, act: () => object]>> = {
      POST: ["CreateSchedule", () => create(id, input())],
      PUT: ["UpdateSchedule", () => update(id, input())],
      GET: ["GetSchedule", () => known(group, id).schedule],
      DELETE: ["DeleteSchedule", () => remove(group, id)],
    };
    const found = methods[verb];
    return found && { method: found[0], act: () => jsonReply(found[1]()) };
  };

  const server = await serveAws(faults, { route, failed: jsonFailed, injected: errors });
  const settings = clientOptions(server.endpoint);
  const client = recorded("scheduler", new SchedulerClient(settings));
  return {
    faults,
    client,
    clientSettings: settings,
    schedules: (): readonly Message[] => [...schedules.values()].map(({ schedule }) => schedule),
    /** Resolves when all running functions have ended. */
    settled: async () => void (await Promise.all(running)),
    close: async () => {
      closed.abort();
      for (const { stop } of schedules.values()) stop.abort();
      client.destroy();
      await server.close();
    },
  };
};

export type FakeEventBridge = Awaited<ReturnType<typeof startFakeEventBridge>>;
