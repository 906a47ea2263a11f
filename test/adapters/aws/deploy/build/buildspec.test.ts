/**
 * The buildspec's shell commands with fakes of aws, docker and pack, and the failure that the builder reads from them.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { failureOfBuild } from "../../../../../adapters/aws/deploy/build/failures.ts";
import { renderBuild } from "../../../../../adapters/aws/deploy/build/render.ts";
import type { RemoteBuild } from "../../../../../adapters/cloud/deploy/build/remote-builder.ts";
import { sourceFrom } from "../../../../clouds/builds.ts";
import { runBuildspec } from "../../../../fakes/aws/codebuild/run-buildspec.ts";
import { sourceOf } from "../../../../support/archives/archives.ts";
import { folderWith } from "../../../../support/archives/folders.ts";
import { accountOf, nameOf } from "../../../../support/http/brands.ts";

const REGISTRY = "123456789012.dkr.ecr.eu-west-1.amazonaws.com";
const IMAGE = `${REGISTRY}/portside:tag`;
const BUILDER = "gcr.io/buildpacks/builder:google-24";
const PINNED = `gcr.io/buildpacks/builder@sha256:${"5".repeat(64)}`;
const dockerfile: RemoteBuild["by"] = { kind: "dockerfile" };
const buildpacks: RemoteBuild["by"] = { kind: "buildpacks", environment: {} };

const run = (
  by: RemoteBuild["by"],
  files: Readonly<Record<string, string>>,
  options: Parameters<typeof runBuildspec>[3] = {},
) => {
  const folder = folderWith();
  onTestFinished(() => folder[Symbol.dispose]());
  const archive = sourceOf(files);
  const request = { owner: accountOf("acme"), name: nameOf("app"), deployId: "d", source: sourceFrom(archive) };
  const shared = { buildProject: "builds", stateBucket: "state" };
  const ran = runBuildspec(
    renderBuild(shared, { request, image: IMAGE, by, mark: "m" }),
    folder.path,
    archive,
    options,
  );
  return { ...ran, commands: ran.calls.map(({ command }) => command), failure: failureOfBuild(ran.build, ran.log) };
};

const fetchSource = ["aws", "s3", "cp", expect.stringMatching(/^s3:\/\/state\/sources\/\w+\/\w+\.tar\.gz$/), "-"];
const publish = [
  ["aws", "ecr", "get-login-password"],
  ["docker", "login", "--username", "AWS", "--password-stdin", REGISTRY],
  ["docker", "push", IMAGE],
];
const pullBuilder = ["docker", "pull", "--quiet", BUILDER];

test("builds a Dockerfile before it has the registry's password, then pushes the image", () => {
  const { commands, source, failure, log } = run(dockerfile, { Dockerfile: "FROM scratch\n", "a/b.txt": "x" });
  expect(failure, log.join("\n")).toBeUndefined();
  expect(commands).toEqual([fetchSource, ["docker", "build", "--tag", IMAGE, source], ...publish]);
  expect(existsSync(join(source, "a/b.txt"))).toBe(true);
});

test("builds with the image's own pack: an untrusted builder by its digest, which is also the lifecycle image", () => {
  const environment = { GOOGLE_RUNTIME: "nodejs", GOOGLE_ENTRYPOINT: `node "$HOME" 'a b' --port $PORT; exit 3` };
  const { commands, source, calls, failure, log } = run({ kind: "buildpacks", environment }, { "main.rb": "" });
  expect(failure, log.join("\n")).toBeUndefined();
  const flags = ["--builder", PINNED, "--lifecycle-image", PINNED, "--path", source];
  const variables = Object.entries(environment).flatMap(([name, value]) => ["--env", `${name}=${value}`]);
  expect(commands).toEqual([
    pullBuilder,
    fetchSource,
    ["docker", "image", "inspect", "--format", "{{index .RepoDigests 0}}", BUILDER],
    ["pack", "build", IMAGE, ...flags, ...variables],
    ...publish,
  ]);
  // sh adds PWD.
  expect(calls[3]?.variables.filter((name) => name !== "PWD")).toEqual(["HOME", "PACK_VOLUME_KEY", "PATH"]);
});

const unread = { reason: "provider_unavailable", message: expect.stringContaining("read the source") };
const unpushed = { reason: "provider_unavailable", message: expect.stringContaining("push the image") };
const unpulledBase = { reason: "build_failed", message: expect.stringContaining("public.ecr.aws/docker/library/") };
const unpulled = { reason: "provider_unavailable", message: expect.stringContaining("pull the buildpacks") };

test.each([
  ["the source is damaged", dockerfile, {}, { isDamaged: true }, 1, unread],
  ["the builder cannot be pulled", buildpacks, {}, { refuses: "docker pull" }, 1, unpulled],
  [
    "the Dockerfile fails",
    dockerfile,
    { Dockerfile: "FROM scratch\nRUN exit 7\n" },
    {},
    2,
    { reason: "build_failed", exitCode: 7 },
  ],
  ["Docker Hub refuses a base image", dockerfile, { Dockerfile: "FROM node:24\n" }, {}, 2, unpulledBase],
  ["pack fails", buildpacks, {}, { refuses: "pack" }, 4, { reason: "build_failed", exitCode: 1 }],
  ["no buildpack supports the source", buildpacks, { nothing: "" }, {}, 4, { reason: "no_builder" }],
  ["the registry returns no password", dockerfile, {}, { refuses: "aws ecr" }, 4, unpushed],
  ["the registry rejects the image", dockerfile, {}, { refuses: "docker push" }, 5, unpushed],
] as const)("ends the build if %s", (_case, by, files, options, calls, expected) => {
  const { failure, commands, build, log } = run(by, { Dockerfile: "FROM scratch\n", ...files }, options);
  expect(build.buildStatus).toBe("FAILED");
  expect(failure, log.join("\n")).toMatchObject(expected);
  expect(commands).toHaveLength(calls);
});
