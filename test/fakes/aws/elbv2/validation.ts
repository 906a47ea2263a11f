/**
 * Validates input for Elastic Load Balancing by the model's constraints on CreateTargetGroup, CreateRule and their
 * types.
 */
import type { Message } from "../protocols.ts";
import { AwsError } from "../server.ts";
import { tagProblem } from "../tags.ts";

const invalid = (message: string): never => {
  throw new AwsError("ValidationError", message);
};

/** "Can have a maximum of 32 characters, must contain only alphanumeric characters or hyphens, ..." */
const NAME = /^(?!-)[A-Za-z0-9-]{1,32}(?<!-)$/;

const between = (input: Message, field: string, least: number, max: number): void => {
  const value = input[field];
  if (value !== undefined && !(Number(value) >= least && Number(value) <= max))
    invalid(`${field} '${value}' must be between ${least} and ${max}`);
};

/** "For target groups with a protocol of HTTP or HTTPS, the range is 200-499." */
const checkMatcher = (codes: string): void => {
  for (const one of codes.split(",").flatMap((part) => part.split("-")))
    if (!(Number(one) >= 200 && Number(one) <= 499))
      invalid(`Health check matcher HTTP code '${codes}' must be within '200-499'`);
};

export const checkTags = (tags: readonly Message[] = []): void => {
  const problem = tagProblem(tags.map(({ Key = "", Value = "" }) => [Key, Value]));
  if (problem !== undefined) invalid(problem);
};

export const checkGroup = (input: Message): void => {
  checkTags(input.Tags);
  if (!NAME.test(input.Name ?? "")) invalid(`Target group name '${input.Name}' is not valid`);
  if (!["HTTP1", "HTTP2", "GRPC"].includes(input.ProtocolVersion ?? "HTTP1")) invalid("ProtocolVersion");
  if (input.VpcId === undefined) invalid("A VPC ID must be specified");
  between(input, "Port", 1, 65_535);
  // "HealthCheckPath: Length Constraints: Minimum length of 1. Maximum length of 1024."
  const { HealthCheckPath: path = "/" } = input;
  if (!path.startsWith("/") || path.length > 1024) invalid(`Health check path '${path}' is not valid`);
  between(input, "HealthCheckIntervalSeconds", 5, 300);
  between(input, "HealthCheckTimeoutSeconds", 2, 120);
  between(input, "HealthyThresholdCount", 2, 10);
  between(input, "UnhealthyThresholdCount", 2, 10);
  if (Number(input.HealthCheckTimeoutSeconds) >= Number(input.HealthCheckIntervalSeconds))
    invalid("Health check timeout must be smaller than the interval");
  if (input.Matcher !== undefined) checkMatcher(input.Matcher.HttpCode);
};

/** "The maximum size of each string is 128 characters. ... A-Z, a-z, 0-9, - . * ?" */
const HOST = /^[A-Za-z0-9*?.-]{1,128}$/;

export const checkRule = (conditions: readonly Message[], actions: readonly Message[]): void => {
  if (conditions.length === 0) invalid("A condition must be specified");
  for (const { HostHeaderConfig, Values } of conditions)
    for (const host of HostHeaderConfig?.Values ?? Values ?? [])
      if (!HOST.test(host)) invalid(`Condition value '${host}' contains a character that is not valid`);
  // "Condition Values per Rule: 5", not adjustable (load-balancer-limits).
  const values = conditions.flatMap(({ HostHeaderConfig, Values }) => HostHeaderConfig?.Values ?? Values ?? []);
  if (values.length > 5) throw new AwsError("ValidationError", "A rule can only have '5' condition values");
  const [action] = actions;
  const groups: Message[] = action?.ForwardConfig?.TargetGroups ?? [];
  // "Target groups per action per Application Load Balancer: 5" (load-balancer-limits).
  if (groups.length > 5) throw new AwsError("TooManyUniqueTargetGroupsPerLoadBalancer", "5 target groups at most");
  for (const { Weight } of groups)
    if (!(Number(Weight ?? 1) >= 0 && Number(Weight ?? 1) <= 999)) invalid("The range of a weight is 0 to 999");
};
