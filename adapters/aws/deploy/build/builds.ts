/** The CodeBuild, ECR and CloudWatch Logs calls of builds. */
import type { Build, StartBuildCommandInput } from "@aws-sdk/client-codebuild";
import type { Unavailable } from "../../../../core/errors.ts";
import { ok, type Result } from "../../../../core/result.ts";
import { type CallState, isCallState, type ProviderCall } from "../../../shared/calls/provider-call.ts";
import type { ClientSource } from "../../clients.ts";
import type { SharedResources } from "../../config.ts";

const loadBuilds = () => import("@aws-sdk/client-codebuild");
const loadRegistry = () => import("@aws-sdk/client-ecr");
const loadLogs = () => import("@aws-sdk/client-cloudwatch-logs");

const TIMEOUT_MS = 60_000;
/** An abort may take five seconds in total. */
const STOP_TIMEOUT_MS = 1500;

type Called<T> = Promise<Result<T, CallState | Unavailable>>;

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
  /** Undefined while the build is not visible. */
  get(id: string, signal: AbortSignal): Called<Build | undefined>;
  stop(id: string): Called<void>;
  log(build: Build, token: string | undefined, signal: AbortSignal): Called<LogPage>;
}

export const createBuilds = (
  { repository }: Pick<SharedResources, "repository">,
  clients: ClientSource,
  call: ProviderCall,
): Builds => {
  let uri: string | undefined;
  return {
    repository: async (signal) => {
      if (uri !== undefined) return ok(uri);
      const found = await call({ what: "ecr.DescribeRepositories", timeoutMs: TIMEOUT_MS, signal }, async () => {
        const [client, { DescribeRepositoriesCommand }] = [await clients("registry"), await loadRegistry()];
        const command = new DescribeRepositoriesCommand({ repositoryNames: [repository] });
        return (await client.send(command, { abortSignal: signal })).repositories?.[0]?.repositoryUri ?? "";
      });
      if (found.isOk()) uri = found.value;
      return found;
    },

    imageExists: async (tag, signal) => {
      const found = await call({ what: "ecr.DescribeImages", timeoutMs: TIMEOUT_MS, signal }, async () => {
        const [client, { DescribeImagesCommand }] = [await clients("registry"), await loadRegistry()];
        const command = new DescribeImagesCommand({ repositoryName: repository, imageIds: [{ imageTag: tag }] });
        return ((await client.send(command, { abortSignal: signal })).imageDetails ?? []).length > 0;
      });
      const isAbsent =
        found.isErr() && isCallState(found.error) && (found.error.error as Error).name === "ImageNotFoundException";
      return isAbsent ? ok(false) : found;
    },

    start: (input, { signal, timeoutMs = TIMEOUT_MS }) =>
      call({ what: "codebuild.StartBuild", timeoutMs, signal }, async () => {
        const [client, { StartBuildCommand }] = [await clients("builds"), await loadBuilds()];
        const options = signal === undefined ? {} : { abortSignal: signal };
        return (await client.send(new StartBuildCommand(input), options)).build?.id ?? "";
      }),

    get: (id, signal) =>
      call({ what: "codebuild.BatchGetBuilds", timeoutMs: TIMEOUT_MS, signal }, async () => {
        const [client, { BatchGetBuildsCommand }] = [await clients("builds"), await loadBuilds()];
        return (await client.send(new BatchGetBuildsCommand({ ids: [id] }), { abortSignal: signal })).builds?.[0];
      }),

    stop: (id) =>
      call({ what: "codebuild.StopBuild", timeoutMs: STOP_TIMEOUT_MS }, async () => {
        const [client, { StopBuildCommand }] = [await clients("builds"), await loadBuilds()];
        await client.send(new StopBuildCommand({ id }));
      }),

    log: async ({ logs }, token, signal) => {
      const { groupName, streamName } = logs ?? {};
      if (groupName === undefined || streamName === undefined) return ok({ text: "", token });
      const read = await call({ what: "logs.GetLogEvents", timeoutMs: TIMEOUT_MS, signal }, async () => {
        const [client, { GetLogEventsCommand }] = [await clients("logs"), await loadLogs()];
        const input = { logGroupName: groupName, logStreamName: streamName, startFromHead: true, nextToken: token };
        const { events, nextForwardToken } = await client.send(new GetLogEventsCommand(input), { abortSignal: signal });
        const text = (events ?? [])
          .map(({ message = "" }) => (message.endsWith("\n") ? message : `${message}\n`))
          .join("");
        return { text, token: nextForwardToken };
      });
      // The stream "is created during the PROVISIONING phase" (LogsLocation).
      return read.isErr() && isCallState(read.error) && read.error.code === "not_found"
        ? ok({ text: "", token })
        : read;
    },
  };
};
