/** One browser for the tests of a file. Without a browser, the tests of the file are reported as not run. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { has, needs } from "../vitest/machine.ts";
import { launchBrowser } from "./browser.ts";

/** Returns a function that returns the browser. Call it at the top of a test file. */
export const useBrowser = (): (() => Browser) => {
  let browser: Browser | undefined;
  beforeAll(async () => {
    if (has("chromium")) browser = await launchBrowser();
  });
  beforeEach((context) => needs(context, "chromium"));
  afterAll(() => browser?.close());
  return () => browser as Browser;
};
