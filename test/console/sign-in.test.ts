/** Signing in to the console, and what it leaves in the browser. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AccountId } from "../../core/domain/accounts/account.ts";
import { createClient } from "../../hosts/client/index.ts";
import { openConsole } from "../support/console/browser.ts";
import { type MemoryConsole, serveMemoryConsole } from "../support/console/served-console.ts";
import { useBrowser } from "../support/console/use-browser.ts";

const browser = useBrowser();
let served: MemoryConsole;
beforeAll(async () => {
  served = await serveMemoryConsole();
});
afterAll(async () => {
  await served?.[Symbol.asyncDispose]();
});

test("signs in with a key, and sends it in one body only: no URL, storage or document has it", async () => {
  const page = await browser().newPage();
  const sent: string[] = [];
  page.on("request", (request) => {
    const { url, headers, body } = { url: request.url(), headers: request.headers(), body: request.postData() };
    if (JSON.stringify([url, headers, body]).includes(served.key)) sent.push(`${url} ${body}`);
  });
  await page.goto(`${served.url}/console/`);
  await page.getByLabel("API key").fill("psk_wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect.poll(() => page.getByRole("alert").textContent()).not.toBe("");
  await page.getByLabel("API key").fill(served.key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Deployments", level: 1 }).waitFor();
  await page.getByRole("link", { name: "Deploys" }).click();
  await page.getByRole("heading", { name: "Deploys", level: 1 }).waitFor();
  expect(sent).toEqual([`${served.url}/v1/console/sign-in ${JSON.stringify({ key: served.key })}`]);
  const left = await page.evaluate(() => ({
    document: document.documentElement.outerHTML,
    values: [...document.querySelectorAll("input")].map(({ value }) => value),
    session: { ...sessionStorage },
    history: JSON.stringify(history.state),
  }));
  const storage = await page.context().storageState({ indexedDB: true });
  expect(JSON.stringify([left, storage, page.url()])).not.toContain(served.key);
  await page.close();
});

test("signs in with a one-time link, and removes the link from the URL", async () => {
  await using opened = await openConsole(browser(), served);
  expect(opened.page.url()).toBe(`${served.url}/console/#/`);
  expect(opened.problems).toEqual([]);
});

test("states that a used link is not valid", async () => {
  const link = await served.link();
  const page = await browser().newPage();
  await page.goto(`${served.url}/console/#link=${link}`);
  await page.getByRole("heading", { name: "Deployments", level: 1 }).waitFor();
  const other = await (await browser().newContext()).newPage();
  await other.goto(`${served.url}/console/#link=${link}`);
  await other.getByText("The link is not valid").waitFor();
  await other.context().close();
  await page.close();
});

test("returns to the sign-in page when the session ends, with the reason", async () => {
  await using opened = await openConsole(browser(), served);
  await served.signOutAll();
  await opened.open("#/deploys");
  await opened.page.getByText("Your session ended. Sign in again.").waitFor();
});

test("signs an idle page out within ten seconds after its key is revoked, in every tab", async () => {
  const { keys } = served.memory.ports.identity;
  const { key, id } = (await keys.create(served.account, "revoked"))._unsafeUnwrap();
  await using opened = await openConsole(browser(), served);
  const { page } = opened;
  await page.goto((await createClient({ url: served.url, key }).createConsoleLink()).url);
  await page.getByRole("button", { name: "Use the link" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  // This page sends no requests after it has loaded.
  await opened.open("#/no-such-page");
  const other = await page.context().newPage();
  await other.goto(`${served.url}/console/#/no-such-page`);
  await other.getByRole("heading", { name: "Not found" }).waitFor();
  await page.clock.install();
  await page.reload();
  await page.getByRole("heading", { name: "Not found" }).waitFor();
  (await keys.revoke(served.account, id))._unsafeUnwrap();
  await page.clock.runFor(10_000);
  for (const tab of [page, other]) await tab.getByText("Your session ended. Sign in again.").waitFor();
});

test("signing out in one tab signs the other tabs out, with the reason", async () => {
  await using opened = await openConsole(browser(), served);
  const { page } = opened;
  const other = await page.context().newPage();
  await other.goto(`${served.url}/console/`);
  await other.getByRole("heading", { name: "Deployments", level: 1 }).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await other.getByText("You signed out in another tab.").waitFor();
  await page.getByText("You are signed out.").waitFor();
  await page.getByLabel("API key").fill(served.key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await other.getByRole("heading", { name: "Deployments", level: 1 }).waitFor();
  expect(await other.getByText("You signed out in another tab.").count()).toBe(0);
});

test("a sign-in with a link ends the session that it replaces", async () => {
  await using opened = await openConsole(browser(), served);
  const { page } = opened;
  const before = (await served.client.listSessions()).sessions.length;
  await page.goto(`${served.url}/console/#link=${await served.link()}`);
  await page.getByRole("button", { name: "Use the link" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect((await served.client.listSessions()).sessions).toHaveLength(before);
});

test("an ended session does not delete the session that another tab has just stored", async () => {
  await using opened = await openConsole(browser(), served);
  const { page } = opened;
  const rejected = page.waitForResponse((response) => response.status() === 401);
  // As another tab, but without the event that tells this tab.
  await page.evaluate(async (key) => {
    const body = JSON.stringify({ key });
    const headers = { "content-type": "application/json" };
    const response = await fetch("../v1/console/sign-in", { method: "POST", headers, body });
    localStorage.setItem("portside-console /", await response.text());
  }, served.key);
  await (await rejected).finished();
  await page.reload();
  await page.getByRole("heading", { name: "Deployments", level: 1 }).waitFor();
});

test("signs out", async () => {
  await using opened = await openConsole(browser(), served);
  await opened.page.getByRole("button", { name: "Sign out" }).click();
  await opened.page.getByText("You are signed out.").waitFor();
  await opened.page.reload();
  await opened.page.getByLabel("API key").waitFor();
});

test("a failed sign-out keeps the session, and states the problem", async () => {
  await using opened = await openConsole(browser(), served);
  const { page } = opened;
  await page.route("**/v1/console/sign-out", (route) => route.abort());
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("You are still signed in").waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "Deployments", level: 1 }).waitFor();
});

test("a link that is pasted into an open page signs in, and leaves the URL", async () => {
  const page = await browser().newPage();
  await page.goto(`${served.url}/console/`);
  await page.getByLabel("API key").waitFor();
  await page.goto(`${served.url}/console/#link=${await served.link()}`);
  await page.getByRole("heading", { name: "Deployments", level: 1 }).waitFor();
  expect(page.url()).toBe(`${served.url}/console/#/`);
  await page.close();
});

test("a link replaces a session only if the user agrees", async () => {
  const { key } = (await served.memory.ports.identity.keys.create("other" as AccountId, "other"))._unsafeUnwrap();
  const { url } = await createClient({ url: served.url, key }).createConsoleLink();
  await using opened = await openConsole(browser(), served);
  const { page } = opened;
  const account = page.locator(".account");
  await page.goto(url);
  await page.getByText("You are signed in as acme.").waitFor();
  expect(page.url()).toBe(`${served.url}/console/#/`);
  await page.getByRole("button", { name: "Cancel" }).click();
  expect(await account.textContent()).toBe("acme");
  const again = await createClient({ url: served.url, key }).createConsoleLink();
  await page.goto(again.url);
  await page.getByRole("button", { name: "Use the link" }).click();
  await expect.poll(() => account.textContent()).toBe("other");
});

test("a link that is not valid keeps the session", async () => {
  await using opened = await openConsole(browser(), served);
  const { page } = opened;
  await page.goto(`${served.url}/console/#link=no-such-link`);
  await page.getByRole("button", { name: "Use the link" }).click();
  await page.getByRole("alert").waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "Deployments", level: 1 }).waitFor();
  expect(await page.locator(".account").textContent()).toBe("acme");
});
