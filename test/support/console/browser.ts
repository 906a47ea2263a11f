/** Pages of the console in Debian's Chromium, which record every problem that a test must not ignore. */
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { browserProgram } from "../vitest/machine.ts";
import type { ServedConsole } from "./served-console.ts";

export const launchBrowser = (): Promise<Browser> =>
  // Chromium's sandbox does not work as root, and the tests open only the console's own pages.
  chromium.launch({
    executablePath: browserProgram() ?? "chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });

export interface ConsolePage extends AsyncDisposable {
  readonly page: Page;
  /** Violations of the content security policy, exceptions and error messages. */
  readonly problems: readonly string[];
  /** Opens a page of the console, such as `#/deploys`, and waits for its heading. */
  open(fragment: string): Promise<void>;
}

/** Opens the sign-in page. */
export const openSignIn = async (
  browser: Browser,
  served: ServedConsole,
  options: BrowserContextOptions = {},
): Promise<ConsolePage> => {
  const context = await browser.newContext({ locale: "en-GB", timezoneId: "Europe/Berlin", ...options });
  // Like the other timeouts, this one only ends hung tests.
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && !message.text().includes("Failed to load resource"))
      problems.push(`${message.text()} (on ${page.url()}, from ${JSON.stringify(message.location())})`);
  });
  await page.goto(`${served.url}/console/`);
  return {
    page,
    problems,
    open: async (fragment) => {
      await page.goto(`${served.url}/console/${fragment}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
    },
    [Symbol.asyncDispose]: () => context.close(),
  };
};

/** Opens a page that is signed in with a one-time link. */
export const openConsole = async (
  browser: Browser,
  served: ServedConsole,
  options: BrowserContextOptions = {},
): Promise<ConsolePage> => {
  const opened = await openSignIn(browser, served, options);
  await opened.page.goto(`${served.url}/console/#link=${await served.link()}`);
  await opened.page.getByRole("heading", { level: 1, name: "Deployments" }).waitFor();
  return opened;
};
