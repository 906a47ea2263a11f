/** The buildspec of a Dockerfile on AWS with the machine's Docker. Only AWS and the registry are fakes. */
import { execFileSync } from "node:child_process";
import { expect, onTestFinished, test } from "vitest";
import { failureOfBuild } from "../../adapters/aws/deploy/build/failures.ts";
import { renderBuild } from "../../adapters/aws/deploy/build/render.ts";
import { sourceFrom } from "../clouds/builds.ts";
import { runBuildspec } from "../fakes/aws/codebuild/run-buildspec.ts";
import { sourceOf } from "../support/archives/archives.ts";
import { folderWith } from "../support/archives/folders.ts";
import { accountOf, nameOf } from "../support/http/brands.ts";
import { needs } from "../support/vitest/machine.ts";

const IMAGE = "registry.invalid/portside:codebuild-test";
const docker = (...args: readonly string[]): string => execFileSync("docker", args, { encoding: "utf8" });

const run = (files: Readonly<Record<string, string>>) => {
  const folder = folderWith();
  onTestFinished(() => folder[Symbol.dispose]());
  const archive = sourceOf(files);
  const request = { owner: accountOf("acme"), name: nameOf("app"), deployId: "d", source: sourceFrom(archive) };
  const build = { request, image: IMAGE, by: { kind: "dockerfile" }, mark: "m" } as const;
  const path = execFileSync("sh", ["-c", "command -v docker"], { encoding: "utf8" }).trim();
  const input = renderBuild({ buildProject: "builds", stateBucket: "state" }, build);
  return runBuildspec(input, folder.path, archive, { docker: path });
};

test("builds the source, without a way to the build's credentials, and pushes the image", (context) => {
  needs(context, "base images");
  const Dockerfile = `FROM python:3.11-slim-bookworm
COPY . /srv
RUN env > /seen && ls -a /root /var/run >> /seen
CMD ["cat", "/srv/a/hello.txt", "/seen"]
`;
  const { build, log, calls } = run({ Dockerfile, "a/hello.txt": "hello\n" });
  expect(failureOfBuild(build, log), log.join("\n")).toBeUndefined();
  expect(calls.at(-1)?.command).toEqual(["docker", "push", IMAGE]);
  const output = docker("run", "--rm", IMAGE);
  docker("rmi", IMAGE);
  expect(output).toMatch(/^hello\n/);
  expect(output).toContain("PATH=");
  expect(output).not.toMatch(/AWS_|SOURCE_|docker\.sock|\.docker/);
});

test("reports a step that fails, and pushes nothing", (context) => {
  needs(context, "base images");
  const { build, log, calls } = run({ Dockerfile: "FROM python:3.11-slim-bookworm\nRUN echo before && exit 7\n" });
  expect(failureOfBuild(build, log)).toMatchObject({ reason: "build_failed", exitCode: 7 });
  expect(log.join("\n")).toContain("before");
  expect(calls.at(-1)?.command.slice(0, 2)).toEqual(["docker", "build"]);
});
