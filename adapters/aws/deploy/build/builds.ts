/** The CodeBuild, ECR and CloudWatch Logs calls of builds. */
import type { Build, StartBuildCommandInput } from "@aws-sdk/client-codebuild";
import { err, ok, okAsync } from "../../../../core/result.ts";
import { isCallState, type ProviderCall } from "../../../cloud/calls/provider-call.ts";
import { type Called, commandSender, missingAsOk, nameOf } from "../../call-policy.ts";
import type { ClientSource } from "../../clients.ts";
import type { SharedResources } from "../../config.ts";

const TIMEOUT_MS = 60_000;
/** Timeout of the call that stops a build. An abort may take five seconds in total. */
const STOP_TIMEOUT_MS = 1500;

export interface LogPage {
  /** Including line ends. */
  readonly text: string;
  /** Start of the next page; unchanged while there are no more lines. */
  readonly token: string | undefined;
}

export interface Builds {
  /** Returns the repository's URI: `ACCOUNT.dkr.ecr.REGION.amazonaws.com/NAME`. */
  repository(signal: AbortSignal): Called<string>;
  imageExists(tag: string, signal: AbortSignal): Called<boolean>;
  /** Returns the build's id. Idempotent per token for five minutes (StartBuild, idempotencyToken). */
  start(
    input: StartBuildCommandInput,
    options: { readonly signal?: AbortSignal; readonly timeoutMs?: number },
  ): Called<string>;
  /** Returns undefined while the build is not visible. */
  get(id: string, signal: AbortSignal): Called<Build | undefined>;
  stop(id: string): Called<void>;
  log(build: Build, token: string | undefined, signal: AbortSignal): Called<LogPage>;
}

export const createBuilds = (
  { repository }: Pick<SharedResources, "repository">,
  clients: ClientSource,
  call: ProviderCall,
): Builds => {
  const codeBuild = commandSender("builds", "codebuild", clients, call);
  const ecr = commandSender("registry", "ecr", clients, call);
  const logs = commandSender("logs", "logs", clients, call);
  let uri: string | undefined;
  return {
    repository: (signal) => {
      if (uri !== undefined) return okAsync(uri);
      const input = { repositoryNames: [repository] };
      return ecr("DescribeRepositoriesCommand", input, { timeoutMs: TIMEOUT_MS, signal })
        .map(({ repositories }) => repositories?.[0]?.repositoryUri ?? "")
        .andTee((found) => {
          uri = found;
        });
    },

    imageExists: (tag, signal) => {
      const input = { repositoryName: repository, imageIds: [{ imageTag: tag }] };
      return ecr("DescribeImagesCommand", input, { timeoutMs: TIMEOUT_MS, signal })
        .map(({ imageDetails = [] }) => imageDetails.length > 0)
        .orElse((error) =>
          isCallState(error) && nameOf(error.error) === "ImageNotFoundException" ? ok(false) : err(error),
        );
    },

    start: (input, { signal, timeoutMs = TIMEOUT_MS }) =>
      codeBuild("StartBuildCommand", input, { timeoutMs, signal }).map(({ build }) => build?.id ?? ""),

    get: (id, signal) =>
      codeBuild("BatchGetBuildsCommand", { ids: [id] }, { timeoutMs: TIMEOUT_MS, signal }).map(
        ({ builds }) => builds?.[0],
      ),

    stop: (id) => codeBuild("StopBuildCommand", { id }, { timeoutMs: STOP_TIMEOUT_MS }).map(() => undefined),

    log: ({ logs: { groupName, streamName } = {} }, token, signal) => {
      if (groupName === undefined || streamName === undefined) return okAsync({ text: "", token });
      const input = { logGroupName: groupName, logStreamName: streamName, startFromHead: true, nextToken: token };
      return (
        logs("GetLogEventsCommand", input, { timeoutMs: TIMEOUT_MS, signal })
          .map(({ events = [], nextForwardToken }) => ({
            text: events.map(({ message = "" }) => (message.endsWith("\n") ? message : `${message}\n`)).join(""),
            token: nextForwardToken,
          }))
          // The stream "is created during the PROVISIONING phase" (LogsLocation).
          .orElse((error) => missingAsOk(error).map(() => ({ text: "", token })))
      );
    },
  };
};
