/**
 * Measures the console in a browser, for `npm run bench -- console`. Prints its port. `GET /MEASURE` makes one
 * measurement of the memory provider's console and responds with its value.
 */
import { createServer } from "node:http";
import type { CDPSession, Page } from "playwright-core";
import { launchBrowser, openConsole } from "../../support/console/browser.ts";
import { seed, writeLines } from "../../support/console/seed.ts";
import { serveMemoryConsole } from "../../support/console/served-console.ts";

const SLOW_DOWN = 4;
const BATCH = 5000;
const MB = 1e6;
/** The browser reports tasks that take at least this long. */
const LONG_TASK_MS = 50;
/** The number of mouse wheel turns, and the pixels that each turn scrolls. */
const [TURNS, TURN_HEIGHT] = [120, 6000];
/** Long enough for a machine that runs other work. */
const TIMEOUT_MS = 110_000;

const [followed = 0, scrolled = 0] = process.argv.slice(2).map(Number);
const browser = await launchBrowser();
const served = await serveMemoryConsole();
await seed(served);

// A visitor who has signed in before.
const signedIn = await openConsole(browser, served);
const storageState = await signedIn.page.context().storageState();
await signedIn[Symbol.asyncDispose]();

interface Visit extends AsyncDisposable {
  readonly page: Page;
  readonly debug: CDPSession;
}

const visit = async (): Promise<Visit> => {
  const context = await browser.newContext({ storageState, viewport: { width: 1400, height: 900 } });
  context.setDefaultTimeout(TIMEOUT_MS);
  const page = await context.newPage();
  const debug = await context.newCDPSession(page);
  return { page, debug, [Symbol.asyncDispose]: () => context.close() };
};

const openList = async (page: Page): Promise<void> => {
  await page.goto(`${served.url}/console/`);
  await page.getByRole("link", { name: "shop-api", exact: true }).waitFor();
};

/** Opens the list of deployments on a slow processor. */
const visitSlowly = async (): Promise<Visit> => {
  const opened = await visit();
  await opened.debug.send("Emulation.setCPUThrottlingRate", { rate: SLOW_DOWN });
  await openList(opened.page);
  return opened;
};

/** Follows the log of a new deployment while it receives lines, until the page shows the last one. */
const follow = async ({ page }: Visit, name: string, lines: number): Promise<void> => {
  await served.deploy(name);
  await page.goto(`${served.url}/console/#/deployments/${name}/logs`);
  await page.getByRole("region", { name: "Log entries" }).waitFor();
  for (let first = 0; first < lines; first += BATCH) {
    const count = Math.min(BATCH, lines - first);
    const batch = Array.from({ length: count }, (_, at) => `GET /orders/${first + at + 1} 200 17 ms`);
    await writeLines(
      served,
      name,
      batch.map((text) => ["INFO", text]),
    );
    // The page reads as fast as it can, so it never waits for the simulated hour.
    await page.getByText(`GET /orders/${first + count} 200 17 ms`, { exact: true }).waitFor();
  }
};

let round = 0;
let scrolling: Visit | undefined;

const measures: Readonly<Record<string, () => Promise<number>>> = {
  bytes: async () => {
    await using opened = await visit();
    let bytes = 0;
    const paths = new Map<string, string>();
    opened.debug.on("Network.responseReceived", ({ requestId, response }) => paths.set(requestId, response.url));
    opened.debug.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
      if (paths.get(requestId)?.includes("/console/") === true) bytes += encodedDataLength;
    });
    await opened.debug.send("Network.enable");
    await openList(opened.page);
    return bytes / 1000;
  },
  paint: async () => {
    await using opened = await visitSlowly();
    return await opened.page.evaluate<number>(`performance.getEntriesByName("first-contentful-paint")[0].startTime`);
  },
  interactive: async () => {
    await using opened = await visitSlowly();
    return await opened.page.evaluate<number>("performance.now()");
  },
  memory: async () => {
    await using opened = await visit();
    round += 1;
    await follow(opened, `followed-${round}`, followed);
    await opened.debug.send("HeapProfiler.collectGarbage");
    const { usedSize } = await opened.debug.send("Runtime.getHeapUsage");
    return usedSize / MB;
  },
  scroll: async () => {
    if (scrolling === undefined) {
      scrolling = await visit();
      await follow(scrolling, "scrolled", scrolled);
    }
    const { page } = scrolling;
    await page.evaluate(`
      window.longest = ${LONG_TASK_MS};
      window.tasks?.disconnect();
      window.tasks = new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration);
      });
      window.tasks.observe({ type: "longtask" });
    `);
    await page.getByRole("region", { name: "Log entries" }).hover();
    for (let turn = 0; turn < TURNS; turn++) {
      await page.mouse.wheel(0, turn < TURNS / 2 ? -TURN_HEIGHT : TURN_HEIGHT);
      await page.evaluate("new Promise((resolve) => requestAnimationFrame(resolve))");
    }
    return page.evaluate<number>("window.longest");
  },
};

const server = createServer((request, response) => {
  const measure = measures[request.url?.slice(1) ?? ""];
  const made = measure === undefined ? Promise.reject(new Error(`no measurement ${request.url}`)) : measure();
  made.then(
    (value) => response.end(String(value)),
    (error: unknown) => response.writeHead(500).end(String(error)),
  );
});
server.listen(0, "127.0.0.1", () => console.log((server.address() as { port: number }).port));

process.once("SIGTERM", async () => {
  await browser.close();
  process.exit();
});
