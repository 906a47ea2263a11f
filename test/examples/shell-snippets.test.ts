/** The shell commands of the pages that people type from top to bottom are run so, with a platform of their own. */
import { expect, test } from "vitest";
import { freePort } from "../support/free-port.ts";
import { needs } from "../support/machine.ts";
import { ShellPage } from "./shell-page.ts";

test.for(["docs/quickstart.md", "docs/operations.md"])("%s", async (file, context) => {
  needs(context, "curl");
  using page = new ShellPage(file, await freePort());
  expect(page.blocks.length).toBeGreaterThan(5);
  const { code, output } = await page.run();
  expect(code, output).toBe(0);
});
