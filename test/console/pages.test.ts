/** Every page with content: accessible in both themes, within the security policy, and without horizontal overflow. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseFragment, type Route, type Section } from "../../hosts/console/shell/routes.ts";
import { violationsOf } from "../support/console/accessibility.ts";
import { type ConsolePage, openConsole } from "../support/console/browser.ts";
import { seed } from "../support/console/seed.ts";
import { seedLocal } from "../support/console/seed-local.ts";
import { type ServedConsole, serveConsole, serveMemoryConsole } from "../support/console/served-console.ts";
import { startSql } from "../support/console/start-sql.ts";
import { useBrowser } from "../support/console/use-browser.ts";
import { startLocal } from "../support/providers/local-platform.ts";

const browser = useBrowser();

/** Texts of the pages that differ between the providers. */
interface Words {
  readonly url: string | RegExp;
  readonly message: string;
  readonly failure: string;
  readonly costs: string;
  readonly domains: string | RegExp;
}

interface Platform extends AsyncDisposable {
  readonly served: ServedConsole;
  readonly ids: { readonly failed: string; readonly done: string };
  readonly words: Words;
}

const startMemory = async (): Promise<Platform> => {
  const served = await serveMemoryConsole();
  const words = {
    url: "shop-api.memory.invalid",
    message: "Charge through the new provider",
    failure: "npm run build exited with code 1.",
    costs: "Platform, EUR",
    domains: "but must point only to",
  };
  const dispose = () => served[Symbol.asyncDispose]();
  return { served, ids: await seed(served), words, [Symbol.asyncDispose]: dispose };
};

const startLocalPlatform = async (): Promise<Platform> => {
  const platform = await startLocal({ runner: "process" });
  const served = await serveConsole(platform.local.ports);
  const words = {
    url: /^127\.0\.0\.1:\d+$/,
    message: "First version",
    failure: "no database",
    costs: "Models, USD",
    // A provider without domains shows its own alternative.
    domains: /No domains yet|does not manage domains/,
  };
  const dispose = async () => {
    await served[Symbol.asyncDispose]();
    await platform[Symbol.asyncDispose]();
  };
  return { served, ids: await seedLocal(served), words, [Symbol.asyncDispose]: dispose };
};

type Of<T> = T | ((platform: Platform) => T);

const of = <T extends string | RegExp>(platform: Platform, value: Of<T>): T =>
  typeof value === "function" ? value(platform) : value;

/** Each page with a text that shows that it has loaded. */
const pages: Readonly<Record<string, readonly [fragment: Of<string>, text: Of<string | RegExp>]>> = {
  deployments: ["#/", ({ words }) => words.url],
  "a search without result": ["#/?q=nothing", "No deployment matches"],
  "a deployment": ["#/deployments/shop-api", "PAYMENT_URL"],
  releases: ["#/deployments/shop-api/releases", ({ words }) => words.message],
  "a comparison": ["#/deployments/shop-api/releases?from=1&to=3", "env.PAYMENT_URL"],
  "the deploys of a deployment": ["#/deployments/shop-api/deploys", "serves all traffic"],
  "the settings of a deployment": ["#/deployments/shop-api/settings", "Remove CACHE"],
  "a new deployment": ["#/deploy?source=example", "hello, 2 files"],
  logs: ["#/deployments/shop-api/logs", "order placed"],
  "a rejected filter": ["#/deployments/shop-api/logs?query=severity%3E%3D%3DERROR", "At character 11"],
  volumes: ["#/volumes", "old-orders"],
  "a volume": ["#/volumes/orders", "README.md"],
  "a folder": ["#/volumes/orders?folder=reports%2F", "figures.csv"],
  "an object": ["#/volumes/orders?object=README.md", "Orders by month"],
  "a missing volume": ["#/volumes/no-such-volume", "no-such-volume"],
  domains: ["#/domains", ({ words }) => words.domains],
  sql: ["#/sql", "Tables and columns"],
  deploys: ["#/deploys", "broken-import"],
  "a deploy": [({ ids }) => `#/deploys/${ids.done}`, "serves all traffic"],
  "a failed deploy": [({ ids }) => `#/deploys/${ids.failed}`, ({ words }) => words.failure],
  "costs by day": ["#/cost", ({ words }) => words.costs],
  "costs by user": ["#/cost?by=user", "<i>linus</i>"],
  "an account": ["#/account", "volumes.mounts"],
  "an unknown page": ["#/nowhere", "No page has this URL."],
  "a missing deployment": ["#/deployments/no-such-app", "no-such-app"],
};

type Kind = Exclude<Route["page"], "deployment"> | `deployment ${Section}`;

/** Every kind of page. The compiler rejects a missing one. */
const kinds: Readonly<Record<Kind, true>> = {
  deployments: true,
  "new-deploy": true,
  deploys: true,
  deploy: true,
  "deployment overview": true,
  "deployment releases": true,
  "deployment deploys": true,
  "deployment logs": true,
  "deployment settings": true,
  volumes: true,
  volume: true,
  domains: true,
  sql: true,
  cost: true,
  account: true,
  unknown: true,
};

const kindOf = (route: Route): Kind => (route.page === "deployment" ? `deployment ${route.section}` : route.page);

/** The widths of a desktop, a phone and the narrowest window that the console supports. */
const widths = [1400, 390, 360];

const overflowsOf = async ({ page }: ConsolePage): Promise<readonly string[]> => {
  const found: string[] = [];
  for (const width of widths) {
    await page.setViewportSize({ width, height: 800 });
    const excess = await page.evaluate<number>(
      "document.documentElement.scrollWidth - document.documentElement.clientWidth",
    );
    if (excess > 0) found.push(`${excess} pixels too wide for a window of ${width}`);
  }
  await page.setViewportSize({ width: 1400, height: 800 });
  return found;
};

/** Returns the violations of WCAG 2.2 AA in both themes. */
const violationsInThemes = async (opened: ConsolePage): Promise<string[]> => {
  const found: string[] = [];
  for (const colorScheme of ["light", "dark"] as const) {
    await opened.page.emulateMedia({ colorScheme });
    found.push(...(await violationsOf(opened)));
  }
  return found;
};

describe.each([
  ["memory", startMemory],
  ["local", startLocalPlatform],
] as const)("on the %s provider", (_provider, start) => {
  let platform: Platform;
  let opened: ConsolePage;
  beforeAll(async () => {
    platform = await start();
    await startSql(platform.served);
    opened = await openConsole(browser(), platform.served, { viewport: { width: 1400, height: 800 } });
  }, 240_000);
  afterAll(async () => {
    await opened?.[Symbol.asyncDispose]();
    await platform?.[Symbol.asyncDispose]();
  });

  test("the list has every kind of page", () => {
    const found = Object.values(pages).map(([fragment]) => kindOf(parseFragment(of(platform, fragment)).route));
    expect(new Set(found)).toEqual(new Set(Object.keys(kinds)));
  });

  test.each(Object.entries(pages))(
    "%s fits the window, without violations of WCAG 2.2 AA or of the security policy",
    async (_name, [fragment, text]) => {
      const { page } = opened;
      await opened.open(of(platform, fragment));
      await page.getByText(of(platform, text)).first().waitFor();
      const found = await violationsInThemes(opened);
      found.push(...(await overflowsOf(opened)));
      expect(found).toEqual([]);
      expect(opened.problems).toEqual([]);
      expect(await page.title()).not.toBe("executed");
    },
  );

  test("the dialogs have no violation", async () => {
    const { page } = opened;
    await opened.open("#/deployments/shop-api/releases");
    await page.getByRole("button", { name: "Roll back to release 1" }).click();
    await page.getByText("A rollback does not change the data of volumes").waitFor();
    expect(await violationsInThemes(opened)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Delete" }).click();
    expect(await violationsInThemes(opened)).toEqual([]);
    await page.keyboard.press("Escape");
    await opened.open("#/deployments/shop-api/settings");
    await page.getByLabel("Memory").fill("much");
    await page.getByRole("button", { name: "Add a mount" }).click();
    await page.getByRole("button", { name: "Add a variable" }).click();
    await page.getByRole("button", { name: "Show the plan" }).click();
    await page.getByText("must be a quantity").waitFor();
    expect(await violationsInThemes(opened)).toEqual([]);
    await page.getByLabel("Memory").fill("2Gi");
    await page.getByRole("button", { name: "Remove the row" }).first().click();
    await page.getByRole("button", { name: "Show the plan" }).click();
    await page.getByText("A deploy needs the source").waitFor();
    expect(await violationsInThemes(opened)).toEqual([]);
    expect(opened.problems).toEqual([]);
  });

  test("a page in a background tab loads", async () => {
    const page = await opened.page.context().newPage();
    await page.addInitScript("Object.defineProperty(document, 'hidden', { get: () => true })");
    await page.goto(`${platform.served.url}/console/#/volumes/orders`);
    await page.getByRole("link", { name: "README.md" }).waitFor();
    await page.close();
  });
});

test("an empty platform and the sign-in page have no violation", async () => {
  await using empty = await serveMemoryConsole();
  await using opened = await openConsole(browser(), empty);
  const { page } = opened;
  for (const [fragment, text] of [
    ["#/", "No deployments yet"],
    ["#/volumes", "No volumes yet"],
    ["#/domains", "No domains yet"],
  ] as const) {
    await opened.open(fragment);
    await page.getByText(text).waitFor();
    expect(await violationsInThemes(opened)).toEqual([]);
  }
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("API key").waitFor();
  expect(await violationsInThemes(opened)).toEqual([]);
  expect(opened.problems).toEqual([]);
});
