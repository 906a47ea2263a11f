/** The release script publishes nothing by accident: it lists every missing requirement. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { needs } from "../support/vitest/machine.ts";

const release = (...args: string[]) =>
  spawnSync(process.execPath, [".ci/release.mjs", ...args], {
    encoding: "utf8",
    // Without a CI environment and its identity.
    env: { PATH: process.env["PATH"] },
  });

test("outside of CI it publishes nothing and lists the missing requirements", (context) => {
  needs(context, "git");
  const { status, stderr } = release("publish");
  expect(status).toBe(1);
  expect(stderr).toContain("this is not a CI run");
  expect(stderr).toContain("id-token: write");
});

test("without a step it lists the steps", () => {
  const { status, stderr } = release();
  expect(status).toBe(1);
  expect(stderr).toContain("version | publish | dry-run");
});

test("the image has the package's version", () => {
  const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
  expect(readFileSync("Dockerfile", "utf8")).toContain(`ARG VERSION=${version}\n`);
});
