/** The page of domains: add, check, remove, and the advice of a provider without domains. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { violationsOf } from "../support/console/accessibility.ts";
import { type ConsolePage, openConsole } from "../support/console/browser.ts";
import { type MemoryConsole, serveConsole, serveMemoryConsole } from "../support/console/served-console.ts";
import { useBrowser } from "../support/console/use-browser.ts";

const browser = useBrowser();
let served: MemoryConsole;
let opened: ConsolePage;
beforeAll(async () => {
  served = await serveMemoryConsole();
  await served.deploy("first-site");
  await served.deploy("second-site");
});
afterAll(() => served?.[Symbol.asyncDispose]());
beforeEach(async () => {
  opened = await openConsole(browser(), served, { permissions: ["clipboard-read", "clipboard-write"] });
  return async () => {
    expect(opened.problems).toEqual([]);
    await opened[Symbol.asyncDispose]();
  };
});

const clipboard = (page: Page): Promise<string> => page.evaluate("navigator.clipboard.readText()");

const cardOf = ({ page }: ConsolePage, domain: string) => page.getByRole("region", { name: domain, exact: true });

test("adds a domain by keyboard, copies its records, checks and removes it", async () => {
  const { page } = opened;
  await page.keyboard.press("g");
  await page.keyboard.press("o");
  await page.getByText("No domains yet").waitFor();
  await page.getByText("portside domain add app.example.com my-app").waitFor();
  await page.getByRole("button", { name: "Add domain" }).press("Enter");
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Domain").fill("*.example.com");
  await dialog.getByLabel("Deployment").selectOption("second-site");
  await dialog.getByRole("button", { name: "Add", exact: true }).press("Enter");
  await dialog.locator("#domain-problem").getByText("wildcard").waitFor();
  expect(await dialog.getByLabel("Domain").getAttribute("aria-invalid")).toBe("true");
  expect(await violationsOf(opened)).toEqual([]);
  await dialog.getByLabel("Domain").fill("app.example.com");
  await dialog.getByRole("button", { name: "Copy CLI" }).press("Enter");
  await expect.poll(() => clipboard(page)).toBe("portside domain add app.example.com second-site");
  await dialog.getByRole("button", { name: "Copy curl" }).press("Enter");
  await expect
    .poll(() => clipboard(page))
    .toContain(`/v1/domain/add -H "x-api-key: $PORTSIDE_API_KEY" -H 'content-type: application/json' -d`);
  await dialog.getByLabel("Domain").press("Enter");

  const card = cardOf(opened, "app.example.com");
  await card.getByText("Pending").waitFor();
  await card.getByRole("link", { name: "second-site" }).waitFor();
  const [stored] = await served.client.listDomains();
  expect(await card.locator(".dns td[data-label=Value] code").allTextContents()).toEqual(
    stored?.records.map(({ value }) => value),
  );
  await card.getByRole("row", { name: /TXT/ }).getByRole("button", { name: "Copy value" }).press("Enter");
  await expect.poll(() => clipboard(page)).toBe(stored?.records.find(({ type }) => type === "TXT")?.value);

  await card.getByRole("button", { name: "Check app.example.com" }).press("Enter");
  await card.getByText("The TXT record that proves ownership does not exist").waitFor();
  served.memory.dns.add(...(stored?.records ?? []));
  await card.getByRole("button", { name: "Check app.example.com" }).press("Enter");
  await card.getByText("Requests to 'app.example.com' reach 'second-site'.").waitFor();
  await card.getByText("Active").waitFor();
  expect(await card.getByText("Copy value").first().isVisible()).toBe(false);

  await card.getByRole("button", { name: "Remove app.example.com" }).press("Enter");
  await dialog.getByRole("button", { name: "Copy CLI" }).press("Enter");
  await expect.poll(() => clipboard(page)).toBe("portside domain remove app.example.com");
  await dialog.getByRole("button", { name: "Remove", exact: true }).press("Enter");
  await page.getByText("No domains yet").waitFor();
  expect(await served.client.listDomains()).toEqual([]);
});

test("shows when a certificate expires, in the time zone of the page", async () => {
  await using opened = await openConsole(browser(), served, { timezoneId: "Asia/Tokyo" });
  const { page } = opened;
  const row = await served.client.addDomain({ domain: "secure.example.com", name: "first-site" });
  const rows = (...dates: string[]) =>
    dates.map((not_after, at) => ({ ...row, domain: `secure${at}.example.com`, certificate: { not_after } }));
  await page.route("**/v1/domain/list", (route) =>
    route.fulfill({ json: rows("2999-06-30T18:00:00+00:00", "2020-01-01T00:00:00+00:00") }),
  );
  await opened.open("#/domains");
  const [valid, expired] = [cardOf(opened, "secure0.example.com"), cardOf(opened, "secure1.example.com")];
  await valid.getByText("The certificate expires on 2999-07-01 03:00:00.").waitFor();
  await expired.getByText("The certificate expired on 2020-01-01 09:00:00.").waitFor();
  await page.getByRole("button", { name: "Local time" }).click();
  await valid.getByText("The certificate expires on 2999-06-30 18:00:00.").waitFor();
  await served.client.removeDomain({ domain: "secure.example.com" });
});

test("shows markup in the detail of a check as text", async () => {
  const { page } = opened;
  const { domain, records } = await served.client.addDomain({ domain: "hostile.example.com", name: "first-site" });
  const value = "<img src=x onerror=\"document.title='executed'\">\u202e";
  served.memory.dns.add(...records.filter(({ type }) => type === "TXT"), { type: "A", name: domain, value });
  await opened.open("#/domains");
  const card = cardOf(opened, domain);
  await card.getByRole("button", { name: `Check ${domain}` }).click();
  await card.getByText("<img src=x onerror=").waitFor();
  expect(await card.locator(".domain-detail .control").allTextContents()).toEqual(["U+202E"]);
  expect(await page.title()).toBe("Domains · Portside");
  await served.client.removeDomain({ domain });
});

test("states the error of a check at its domain", async () => {
  const { page } = opened;
  const { domain } = await served.client.addDomain({ domain: "gone.example.com", name: "first-site" });
  await opened.open("#/domains");
  const card = cardOf(opened, domain);
  await card.waitFor();
  await page.route("**/v1/domain/list", (route) => route.abort());
  await served.client.removeDomain({ domain });
  await card.getByRole("button", { name: `Check ${domain}` }).click();
  await card.getByRole("alert").getByText("Your account has no domain").waitFor();
});

test("a provider without domains shows its own alternative", async () => {
  const { ports } = served.memory;
  const reason = "put a load balancer in front of the service";
  const capabilities = { ...ports.provider.capabilities, domains: { supported: false, reason } as const };
  await using other = await serveConsole({ ...ports, provider: { ...ports.provider, capabilities } });
  await using page = await openConsole(browser(), other);
  await page.open("#/domains");
  await page.page.getByRole("heading", { name: "This platform does not manage domains" }).waitFor();
  await page.page.getByText(reason).waitFor();
  expect(await page.page.getByRole("button", { name: "Add domain" }).count()).toBe(0);
  expect(await page.page.getByRole("button", { name: "Retry" }).count()).toBe(0);
  expect(await violationsOf(page)).toEqual([]);
  expect(page.problems).toEqual([]);
});
