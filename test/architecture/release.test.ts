/** Nothing is published by accident: the script refuses where anything lacks, and names all of it. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { needs } from "../support/vitest/machine.ts";

const release = (...args: string[]) =>
  spawnSync(process.execPath, [".ci/release.mjs", ...args], {
    encoding: "utf8",
    // No CI, and no identity of one.
    env: { PATH: process.env["PATH"] },
  });

test("away from a CI it publishes nothing, and says what lacks", (context) => {
  needs(context, "git");
  const { status, stderr } = release("publish");
  expect(status).toBe(1);
  expect(stderr).toContain("there is no CI here");
  expect(stderr).toContain("id-token: write");
});

test("without a step it says which there are", () => {
  const { status, stderr } = release();
  expect(status).toBe(1);
  expect(stderr).toContain("version | publish | dry-run");
});

test("the image says the package's version", () => {
  const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
  expect(readFileSync("Dockerfile", "utf8")).toContain(`ARG VERSION=${version}\n`);
});
