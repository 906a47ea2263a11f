/** The scanner sslyze compares the TLS port with Mozilla's intermediate profile. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { startNamedIngress } from "../../../support/handover/named-ingress.ts";
import { createTestAuthority } from "../../../support/tls/test-authority.ts";
import { testTls } from "../../../support/tls/tls-ingress.ts";
import { needs, sslyze } from "../../../support/vitest/machine.ts";

test("complies with Mozilla's intermediate profile, except that the test's authority is unknown", async (context) => {
  needs(context, "sslyze");
  const { config } = testTls({}, createTestAuthority().issue("localhost"));
  await using named = await startNamedIngress("one", [], { tls: config });
  const scan = promisify(execFile)(sslyze, ["--mozilla_config=intermediate", `localhost:${named.ingress.tlsPort}`]);
  const { stdout } = await scan.catch((error: { readonly stdout: string }) => error);
  expect(stdout).toContain(`Checking results against Mozilla's "intermediate" configuration`);
  const findings = [...stdout.matchAll(/^ {8}\* (\w+):/gm)].map((match) => match[1]);
  expect(findings).toEqual(["certificate_path_validation"]);
  expect(stdout).not.toMatch(/VULNERABLE|NOT SUPPORTED - Secure/);
});
