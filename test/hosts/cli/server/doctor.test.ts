/** `portside doctor`: what this machine or a project lacks, for people and for programs. */
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Finding } from "../../../../core/domain/wire/check.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { portside } from "../../../support/cli/terminal.ts";

const bare = { PATH: "/nonexistent", HOME: "/nonexistent" };
const findings = (stdout: string): Finding[] =>
  stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Finding);

test("reports missing programs, their effect, and how to install them", async () => {
  using folder = folderWith();
  const args = ["doctor", "--data-dir", folder.path, "--runner", "process"];
  const { code, stdout } = await portside([...args, "--json"], { env: bare });
  expect(code).toBe(0);
  const found = new Map(findings(stdout).map((one) => [one.what, one]));
  expect(found.get("Node")).toMatchObject({ verdict: "ok", words: process.version });
  expect(found.get("npm")).toMatchObject({ verdict: "warning", fix: "apt-get install npm" });
  expect(found.get("python3")).toMatchObject({ verdict: "warning" });
  expect(found.get("runner")).toMatchObject({
    verdict: "warning",
    words: "plain processes: services are not isolated",
  });
  const words = await portside(args, { env: bare });
  expect(words.stdout).toMatch(/^ok {7}Node: v/);
  expect(words.stdout).toContain("warning  npm: not found; Node sources with dependencies cannot be built\n");
  expect(words.stdout).toContain("         apt-get install npm\n");
});

test("checks the parent of a data folder that does not exist yet", async () => {
  using folder = folderWith();
  const deep = join(folder.path, "a", "b");
  const { stdout } = await portside(["doctor", "--data-dir", deep, "--json"], { env: bare });
  expect(findings(stdout).find(({ what }) => what === `data folder ${deep}`)).toMatchObject({
    words: expect.stringContaining("GiB free"),
  });
});

test("exits with 1 if the data folder is a file", async () => {
  using folder = folderWith({ data: "" });
  const file = join(folder.path, "data");
  const { code, stdout } = await portside(["doctor", "--data-dir", file, "--json"], { env: bare });
  expect(code).toBe(1);
  expect(findings(stdout)).toContainEqual(
    expect.objectContaining({ verdict: "missing", words: `${file} is not a writable folder` }),
  );
});

test.each([
  [
    ["--provider", "gcp"],
    "The provider gcp needs --gcp-project (or PORTSIDE_GCP_PROJECT) and --gcp-region (or PORTSIDE_GCP_REGION).",
  ],
  [["--provider", "gcp", "--gcp-project", "p"], "The provider gcp needs --gcp-region"],
  [["--provider", "aws"], "The provider aws needs --aws-region (or PORTSIDE_AWS_REGION)."],
  [["--provider", "memory"], "The provider 'memory' has no checks. portside doctor can check local, gcp and aws."],
])("%j is reported", async (args, words) => {
  const { code, stderr } = await portside(["doctor", ...args], { env: bare });
  expect(code).toBe(1);
  expect(stderr).toContain(words);
  expect(stderr).not.toContain("bug");
});

test("reports a misspelt setting with the correct name", async () => {
  using folder = folderWith();
  const args = ["doctor", "--data-dir", folder.path, "--runner", "process"];
  const { stderr } = await portside(args, { env: { ...bare, PORTSIDE_INGRES_PORT: "1" } });
  expect(stderr).toContain("PORTSIDE_INGRES_PORT is not a setting. Did you mean PORTSIDE_INGRESS_PORT?");
});
