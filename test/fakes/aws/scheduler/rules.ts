/**
 * Validates schedules by the service model and its guide:
 * https://docs.aws.amazon.com/scheduler/latest/APIReference/API_CreateSchedule.html
 */
import { isTimeZone, parseCron } from "../../../../core/domain/schedules/schedule.ts";
import type { Message } from "../protocols.ts";
import { AwsError } from "../server.ts";

const NAME = /^[0-9a-zA-Z-_.]{1,64}$/;
const INPUT_BYTES = 256 * 1024;

/**
 * Converts six fields to five for the core's calendar. Exactly one day field must be `?`; weekdays start at 1 for
 * Sunday (https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html). Undefined if the expression is
 * malformed.
 */
export const fiveFields = (expression: string): string | undefined => {
  const fields = /^cron\((.*)\)$/.exec(expression)?.[1]?.split(" ") ?? [];
  const [minutes, hours, day = "", month, weekday = "", year] = fields;
  if (fields.length !== 6 || year !== "*" || (day === "?") === (weekday === "?")) return undefined;
  const weekdays = weekday.replaceAll(/\d+/g, (number) => String(Number(number) - 1));
  if (/-1|[7-9]/.test(weekdays.replaceAll(/(\d)-(\d)/g, "$1,$2"))) return undefined;
  const text = [minutes, hours, day === "?" ? "*" : day, month, weekday === "?" ? "*" : weekdays].join(" ");
  return typeof parseCron(text) === "string" ? undefined : text;
};

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

const problemOf = (name: string, schedule: Message): string | undefined => {
  const { ScheduleExpression: expression = "", ScheduleExpressionTimezone: zone = "UTC", Target: target } = schedule;
  const retry = target?.RetryPolicy ?? {};
  if (!NAME.test(name)) return `Value '${name}' at 'name' failed to satisfy constraint`;
  if (expression.length < 1 || expression.length > 256) return "ScheduleExpression must have 1 to 256 characters";
  if (fiveFields(expression) === undefined) return `Invalid Schedule Expression ${expression}.`;
  if (zone.length > 50 || !isTimeZone(zone)) return "Provided time zone is invalid";
  if (schedule.FlexibleTimeWindow?.Mode === undefined) return "FlexibleTimeWindow is required";
  if (!/^arn:aws[a-z-]*:lambda:[a-z0-9-]+:\d{12}:function:.+$/.test(target?.Arn ?? ""))
    return "Target.Arn is malformed";
  if (!/^arn:aws[a-z-]*:iam::\d{12}:role\/.+$/.test(target.RoleArn ?? "")) return "Target.RoleArn is malformed";
  // "If you are configuring a templated Lambda ... target, the input must be a well-formed JSON."
  if (!isJson(target.Input ?? "{}") || Buffer.byteLength(target.Input ?? "") > INPUT_BYTES) return "Input is malformed";
  const { MaximumEventAgeInSeconds: age = 86_400, MaximumRetryAttempts: tries = 185 } = retry;
  if (age < 60 || age > 86_400) return "MaximumEventAgeInSeconds must be in 60 to 86400";
  if (tries < 0 || tries > 185) return "MaximumRetryAttempts must be in 0 to 185";
  return undefined;
};

/** Adds the documented defaults. Throws ValidationException. */
export const checkedSchedule = (name: string, schedule: Message): Message => {
  const problem = problemOf(name, schedule);
  if (problem !== undefined) throw new AwsError("ValidationException", problem);
  const { ClientToken: _token, GroupName = "default", ...kept } = schedule;
  return {
    ...kept,
    Name: name,
    GroupName,
    State: kept.State ?? "ENABLED",
    ScheduleExpressionTimezone: kept.ScheduleExpressionTimezone ?? "UTC",
    Target: {
      ...kept.Target,
      RetryPolicy: { MaximumEventAgeInSeconds: 86_400, MaximumRetryAttempts: 185, ...kept.Target.RetryPolicy },
    },
  };
};
