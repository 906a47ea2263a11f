/**
 * Stand-ins for the programs of CodeBuild's image `aws/codebuild/standard:8.0` that a buildspec calls: aws, docker 28.5
 * and pack 0.39.1. They accept only options that those programs have, and write each call to `calls.jsonl`. Runs as
 * `build-tools.ts FOLDER PROGRAM ARGUMENTS`; see `run-buildspec.ts`.
 */
import { spawnSync } from "node:child_process";
import { appendFileSync, existsSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";

export interface ToolsWorld {
  /** The only object in S3. The AWS CLI detects the damage only after it has written the whole object. */
  readonly object: { readonly uri: string; readonly path: string; readonly isDamaged: boolean };
  /** The beginning of the commands that fail because of the platform, such as `docker pull`. */
  readonly refuses: string | undefined;
  /** A real docker for everything except the registry. */
  readonly docker: string | undefined;
}

export interface ToolCall {
  readonly command: readonly string[];
  /** The names of the variables that the program received. */
  readonly variables: readonly string[];
}

const PASSWORD = "a-token-of-ecr";
const DIGEST = `sha256:${"5".repeat(64)}`;
/** internal/builder/trusted_builder.go of buildpacks/pack, v0.39.1: pack compares the name as it was given. */
const TRUSTED = ["gcr.io/buildpacks/builder:google-22", "heroku/builder:24", "paketobuildpacks/builder-jammy-base"];

/** Docker Hub's limit for builds without a login: https://docs.docker.com/docker-hub/usage/#rate-limit */
const TOO_MANY = "ERROR: toomanyrequests: You have reached your unauthenticated pull rate limit.";

class Failed extends Error {
  readonly status: number;

  constructor(message: string, status = 1) {
    super(message);
    this.status = status;
  }
}

/** The first part of a reference is a registry only if it could be a host: distribution/reference, normalize.go. */
const isOnDockerHub = (reference: string): boolean => {
  const [first = "", ...rest] = reference.split("/");
  return rest.length === 0 || !/[.:]/.test(first) || first === "docker.io";
};

const repositoryOf = (reference: string): string => reference.replace(/(@sha256:[0-9a-f]+|:[^/:]+)$/, "");

const [folder = "", program = "", ...args] = process.argv.slice(2);
const world: ToolsWorld = JSON.parse(readFileSync(join(folder, "world.json"), "utf8"));
const callsFile = join(folder, "calls.jsonl");
const earlier: readonly ToolCall[] = existsSync(callsFile)
  ? readFileSync(callsFile, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
  : [];

const say = (text: string): void => {
  writeSync(1, text);
};
const hasCalled = (...words: readonly string[]): boolean =>
  earlier.some(({ command }) => words.every((word, at) => command[at] === word));
/** Whether an earlier build left this image. */
const isBuilt = (image: string): boolean =>
  earlier.some(
    ({ command: [one, other, ...rest] }) =>
      other === "build" && (one === "pack" || one === "docker") && rest.includes(image),
  );

const realDocker = (): void => {
  const { status, signal } = spawnSync(world.docker ?? "", args, { stdio: "inherit" });
  if (status !== 0) throw new Failed(`docker ended with ${status ?? signal}`, status ?? 1);
};

const aws = (): void => {
  // Credentials of a build come from this path: codebuild/latest/userguide/troubleshooting#troubleshooting-versions
  if (process.env["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] === undefined)
    throw new Failed('Unable to locate credentials. You can configure credentials by running "aws configure".', 255);
  const command = args.join(" ");
  if (command === "ecr get-login-password") return say(`${PASSWORD}\n`);
  if (command !== `s3 cp ${world.object.uri} -`) throw new Failed(`fatal error: ${command}: Not Found`);
  writeSync(1, readFileSync(world.object.path));
  if (world.object.isDamaged) throw new Failed("download failed: Expected checksum did not match calculated checksum");
};

const pull = (rest: readonly string[]): void => {
  const { positionals } = parseArgs({
    args: [...rest],
    options: { quiet: { type: "boolean" } },
    allowPositionals: true,
  });
  const [reference = ""] = positionals;
  if (isOnDockerHub(reference)) throw new Failed(TOO_MANY);
  say(`${reference}\n`);
};

const inspect = (rest: readonly string[]): void => {
  const options = { format: { type: "string" } } as const;
  const { values, positionals } = parseArgs({ args: [...rest], options, allowPositionals: true });
  const [reference = ""] = positionals;
  if (!hasCalled("docker", "pull", "--quiet", reference)) throw new Failed(`No such image: ${reference}`);
  if (values.format !== "{{index .RepoDigests 0}}") throw new Failed("this stand-in knows no other format");
  say(`${repositoryOf(reference)}@${DIGEST}\n`);
};

const dockerBuild = (rest: readonly string[]): void => {
  const { positionals } = parseArgs({ args: [...rest], options: { tag: { type: "string" } }, allowPositionals: true });
  const [context = ""] = positionals;
  const dockerfile = readFileSync(join(context, "Dockerfile"), "utf8");
  const base = /^FROM (\S+)$/m.exec(dockerfile)?.[1] ?? "";
  if (base !== "scratch" && isOnDockerHub(base)) throw new Failed(TOO_MANY);
  const exit = /^RUN exit (\d+)$/m.exec(dockerfile)?.[1];
  if (exit !== undefined)
    throw new Failed(
      `ERROR: failed to build: failed to solve: process "/bin/sh -c exit ${exit}" did not complete successfully: exit code: ${exit}`,
    );
};

const login = (rest: readonly string[], input: string): void => {
  const options = { username: { type: "string" }, "password-stdin": { type: "boolean" } } as const;
  const { values } = parseArgs({ args: [...rest], options, allowPositionals: true });
  if (values.username !== "AWS" || values["password-stdin"] !== true || input.trim() !== PASSWORD)
    throw new Failed("Error response from daemon: login attempt failed with status: 400 Bad Request");
  say("Login Succeeded\n");
};

const push = ([image = ""]: readonly string[]): void => {
  if (!hasCalled("docker", "login", "--username", "AWS", "--password-stdin", image.split("/")[0] ?? ""))
    throw new Failed("no basic auth credentials");
  if (!isBuilt(image)) throw new Failed(`An image does not exist locally with the tag: ${repositoryOf(image)}`);
};

const docker = (input: string): void => {
  const [command, ...rest] = args;
  if (command === "login") return login(rest, input);
  if (command === "push") return push(rest);
  if (world.docker !== undefined) return realDocker();
  if (command === "pull") return pull(rest);
  if (command === "image" && rest[0] === "inspect") return inspect(rest.slice(1));
  if (command === "build") return dockerBuild(rest);
  throw new Failed(`this stand-in has no docker ${command}`);
};

const pack = (): void => {
  const options = {
    builder: { type: "string" },
    "lifecycle-image": { type: "string" },
    path: { type: "string" },
    env: { type: "string", multiple: true },
  } as const;
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const { builder = "", "lifecycle-image": lifecycle = "docker.io/buildpacksio/lifecycle:0.21.14", path = "" } = values;
  if (positionals[0] !== "build" || positionals.length !== 2) throw new Failed("ERROR: accepts 1 arg(s)");
  if (TRUSTED.includes(builder))
    throw new Failed("ERROR: would run the source's code in a container with Docker's socket");
  for (const image of [builder, lifecycle])
    if (isOnDockerHub(image) || !image.endsWith(`@${DIGEST}`)) throw new Failed(`ERROR: would pull ${image}`);
  if (existsSync(join(path, "nothing"))) throw new Failed("ERROR: No buildpack groups passed detection.");
};

const input = program === "docker" && args[0] === "login" ? readFileSync(0, "utf8") : "";
const call: ToolCall = { command: [program, ...args], variables: Object.keys(process.env).sort() };
appendFileSync(callsFile, `${JSON.stringify(call)}\n`);
try {
  if (world.refuses !== undefined && [program, ...args].join(" ").startsWith(world.refuses))
    throw new Failed("the platform refuses this");
  if (program === "aws") aws();
  else if (program === "docker") docker(input);
  else pack();
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = error instanceof Failed ? error.status : 125;
}
