/** Runs a request's buildspec as CodeBuild does, with stand-ins for the programs of its image. */

import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import type { Build, BuildPhase, StartBuildCommandInput } from "@aws-sdk/client-codebuild";
import type { ToolCall, ToolsWorld } from "./build-tools.ts";

/** Types are removed once here; otherwise node would remove them on every call. */
const TOOLS = stripTypeScriptTypes(readFileSync(new URL("./build-tools.ts", import.meta.url), "utf8"));
const PHASES = [
  ["install", "INSTALL"],
  ["pre_build", "PRE_BUILD"],
  ["build", "BUILD"],
  ["post_build", "POST_BUILD"],
] as const;

export interface BuildspecRun {
  readonly build: Build;
  /** The log, line by line. */
  readonly log: readonly string[];
  readonly calls: readonly ToolCall[];
  /** Where the build unpacked the source. */
  readonly source: string;
}

/** Runs the commands of one phase until one fails. */
const runPhase = (
  { commands }: { readonly commands: readonly string[] },
  phaseType: (typeof PHASES)[number][1],
  environment: Readonly<Record<string, string>>,
  log: string[],
): BuildPhase => {
  for (const command of commands) {
    // CodeBuild runs all commands in one shell. A new shell for each command proves that commands share no variables.
    const ran = spawnSync("bash", ["-c", `exec 2>&1\n${command}`], { env: environment, encoding: "utf8" });
    log.push(...ran.stdout.split("\n").filter((line) => line !== ""));
    if (ran.status === 0) continue;
    const message = `Error while executing command: ${command}. Reason: exit status ${ran.status}`;
    return { phaseType, phaseStatus: "FAILED", contexts: [{ statusCode: "COMMAND_EXECUTION_ERROR", message }] };
  }
  return { phaseType, phaseStatus: "SUCCEEDED" };
};

/**
 * @param folder a new, empty folder
 * @param archive the source
 */
export const runBuildspec = (
  { buildspecOverride = "", environmentVariablesOverride = [] }: StartBuildCommandInput,
  folder: string,
  archive: Uint8Array,
  { refuses, docker, isDamaged = false }: Partial<ToolsWorld & ToolsWorld["object"]> = {},
): BuildspecRun => {
  const given = Object.fromEntries(environmentVariablesOverride.map(({ name = "", value = "" }) => [name, value]));
  const object = {
    uri: `s3://${given["SOURCE_BUCKET"]}/${given["SOURCE_KEY"]}`,
    path: join(folder, "object"),
    isDamaged,
  };
  const world: ToolsWorld = { object, refuses, docker };
  writeFileSync(object.path, archive);
  writeFileSync(join(folder, "world.json"), JSON.stringify(world));
  const tools = join(folder, "build-tools.mjs");
  writeFileSync(tools, TOOLS);
  const programs = join(folder, "bin");
  mkdirSync(programs);
  for (const name of ["aws", "docker", "pack"]) {
    const path = join(programs, name);
    writeFileSync(path, `#!/bin/sh\nexec '${process.execPath}' '${tools}' '${folder}' ${name} "$@"\n`);
    chmodSync(path, 0o755);
  }
  const source = join(folder, "source");
  const environment = {
    ...given,
    SOURCE_FOLDER: source,
    PATH: `${programs}:${process.env["PATH"]}`,
    HOME: folder,
    AWS_DEFAULT_REGION: "eu-west-1",
    AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: "/v2/credentials/secret",
  };
  const { phases } = JSON.parse(buildspecOverride);
  const log: string[] = [];
  const ran: BuildPhase[] = [];
  for (const [name, type] of PHASES.filter(([one]) => one in phases)) {
    const phase = runPhase(phases[name], type, environment, log);
    ran.push(phase);
    // After a failed BUILD, POST_BUILD runs, except with this setting: build-spec-ref, phases/on-failure.
    if (phase.phaseStatus === "FAILED" && (name !== "build" || phases[name]["on-failure"] === "ABORT")) break;
  }
  const failed = ran.some(({ phaseStatus }) => phaseStatus === "FAILED");
  const callsFile = join(folder, "calls.jsonl");
  const lines = existsSync(callsFile) ? readFileSync(callsFile, "utf8").trim().split("\n") : [];
  const calls = lines.map((line): ToolCall => JSON.parse(line));
  return { build: { buildStatus: failed ? "FAILED" : "SUCCEEDED", phases: ran }, log, calls, source };
};
