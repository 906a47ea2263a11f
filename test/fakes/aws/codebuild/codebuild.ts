/**
 * A fake CodeBuild that builds with an engine, written from the model of client-codebuild and its comments. It reads
 * the source from the bucket in its variables, logs to CloudWatch Logs, and pushes the image to the fake registry.
 */
import { randomUUID } from "node:crypto";
import { CodeBuildClient } from "@aws-sdk/client-codebuild";
import { type EngineBuild, formatLifecycle } from "../../engine/builds.ts";
import { Faults } from "../../faults.ts";
import { clientOptions, jsonProtocol, type Message } from "../protocols.ts";
import { recorded } from "../requests/recorder.ts";
import { AwsError, serveAws } from "../server.ts";

/** The project's log group, as in `docs/providers/aws-template.yaml`. Its role may only write to this group. */
export const BUILD_LOGS = "/portside/builds";

export interface FakeCodeBuildDeps {
  readonly project?: string;
  /** Undefined: the object does not exist. */
  readonly readObject: (bucket: string, key: string) => Uint8Array | undefined;
  /** Stores an image under its reference. */
  readonly push: (reference: string, engineImage: string) => void;
  /** Receives a line of a build's log, as CodeBuild sends it to CloudWatch Logs. */
  readonly onLine: (group: string, stream: string, line: string) => void;
  readonly build: EngineBuild;
}

interface Running {
  readonly build: Message;
  readonly abort: AbortController;
  readonly token: string | undefined;
  readonly input: string;
}

/** The build's status and its failed phases. */
type Outcome = { readonly buildStatus: string; readonly phases?: readonly Message[] };

const failedIn = (phaseType: string, status = 1): Outcome => {
  const message = `Error while executing command: docker. Reason: exit status ${status}`;
  const contexts = [{ statusCode: "COMMAND_EXECUTION_ERROR", message }];
  return { buildStatus: "FAILED", phases: [{ phaseType, phaseStatus: "FAILED", contexts }] };
};

export const startFakeCodeBuild = async (deps: FakeCodeBuildDeps) => {
  const { project = "portside", readObject, push, onLine } = deps;
  const faults = new Faults();
  const running = new Map<string, Running>();
  const state: { outcome: Outcome | undefined } = { outcome: undefined };

  const outcomeOf = async (build: Message, say: (line: string) => void, signal: AbortSignal): Promise<Outcome> => {
    const variables = Object.fromEntries(
      build.environment.environmentVariables.map(({ name, value }: Message) => [name, value]),
    );
    const archive = readObject(variables.SOURCE_BUCKET, variables.SOURCE_KEY);
    if (archive === undefined) return failedIn("PRE_BUILD");
    if (state.outcome !== undefined) return state.outcome;
    const spec = JSON.parse(build.source.buildspec);
    if (spec.phases.build.commands[0].startsWith("docker build")) {
      // There is no container engine here, so Docker images can be neither built nor run.
      say("ERROR: this fake has no Docker");
      return failedIn("BUILD");
    }
    const built = await deps.build(archive, say, signal);
    if ("failure" in built) {
      for (const line of formatLifecycle(built.failure)) say(line);
      return failedIn("BUILD");
    }
    push(variables.IMAGE, built.image);
    return { buildStatus: "SUCCEEDED" };
  };

  const run = async ({ build, abort }: Running): Promise<void> => {
    const { groupName, streamName } = build.logs;
    if (groupName !== BUILD_LOGS) {
      // "ACCESS_DENIED: Service role ... does not allow AWS CodeBuild to create Amazon CloudWatch Logs log streams".
      Object.assign(build, failedIn("QUEUED"), { buildComplete: true, currentPhase: "COMPLETED" });
      return;
    }
    const say = (line: string) => onLine(groupName, streamName, line);
    build.currentPhase = "BUILD";
    say(`[Container] Entering phase BUILD of ${build.id}`);
    const end = await outcomeOf(build, say, abort.signal).catch((error: Error): Outcome => {
      say(`ERROR: ${error.message}`);
      return { buildStatus: "FAULT" };
    });
    say("[Container] Phase complete");
    if (!build.buildComplete) Object.assign(build, end, { buildComplete: true, currentPhase: "COMPLETED" });
  };

  const start = (input: Message): Message => {
    if (input.projectName !== project)
      throw new AwsError("ResourceNotFoundException", `Project cannot be found: ${input.projectName}`);
    // "If you repeat the StartBuild request with the same token, but change a parameter, ... a parameter mismatch
    // error."
    const known = [...running.values()].find(({ token }) => token !== undefined && token === input.idempotencyToken);
    if (known !== undefined) {
      if (known.input !== JSON.stringify(input))
        throw new AwsError("InvalidInputException", "The parameters do not match those of the token's first request");
      return { build: known.build };
    }
    const minutes = input.timeoutInMinutesOverride ?? 60;
    if (minutes < 5 || minutes > 2160) throw new AwsError("InvalidInputException", "Invalid timeout: 5 to 2160");
    // "If this value is not provided or is set to an empty string, the source code must contain a buildspec file".
    if (input.sourceTypeOverride === "NO_SOURCE" && !input.buildspecOverride)
      throw new AwsError("InvalidInputException", "Buildspec is required if type is NO_SOURCE");
    // "Log settings for this build that override the log settings defined in the build project": the override replaces
    // all of them. Without a group name it is "/aws/codebuild/PROJECT" (userguide/getting-started-output-console-logs).
    const { groupName = `/aws/codebuild/${project}` } = input.logsConfigOverride?.cloudWatchLogs ?? {
      groupName: BUILD_LOGS,
    };
    const id = `${project}:${randomUUID()}`;
    const build = {
      id,
      projectName: project,
      buildStatus: "IN_PROGRESS",
      buildComplete: false,
      currentPhase: "SUBMITTED",
      source: { type: input.sourceTypeOverride, buildspec: input.buildspecOverride },
      environment: { environmentVariables: input.environmentVariablesOverride ?? [] },
      // The stream is named after the build's id: userguide/getting-started-output-console-logs
      logs: { groupName, streamName: id.split(":")[1] },
      phases: [],
    };
    const token: string | undefined = input.idempotencyToken;
    const one: Running = { build, abort: new AbortController(), token, input: JSON.stringify(input) };
    running.set(id, one);
    void run(one);
    return { build };
  };

  const methods = {
    StartBuild: start,
    BatchGetProjects: ({ names }: Message) => ({
      projects: names.filter((one: string) => one === project).map((name: string) => ({ name })),
      projectsNotFound: names.filter((one: string) => one !== project),
    }),
    BatchGetBuilds: ({ ids }: Message) => ({
      builds: ids.flatMap((id: string) => running.get(id)?.build ?? []),
      buildsNotFound: ids.filter((id: string) => !running.has(id)),
    }),
    StopBuild: ({ id }: Message) => {
      const one = running.get(id);
      if (one === undefined) throw new AwsError("ResourceNotFoundException", `Build cannot be found: ${id}`);
      // Assumption: stopping a finished build does not change its status.
      if (!one.build.buildComplete) {
        Object.assign(one.build, { buildStatus: "STOPPED", buildComplete: true, currentPhase: "COMPLETED" });
        one.abort.abort();
      }
      return { build: one.build };
    },
  };
  const server = await serveAws(faults, jsonProtocol(methods));
  const client = recorded("builds", new CodeBuildClient(clientOptions(server.endpoint)));
  return {
    faults,
    client,
    state,
    /** All builds, oldest first. */
    builds: (): readonly Message[] => [...running.values()].map(({ build }) => build),
    close: async () => {
      for (const { abort } of running.values()) abort.abort();
      client.destroy();
      await server.close();
    },
  };
};
