/** The console in another application: under a prefix, behind a proxy that removes one, and with the users of the application. */
import Fastify from "fastify";
import { request as send } from "undici";
import { expect, test } from "vitest";
import { createMemoryProvider } from "../../adapters/memory/index.ts";
import { createControlPlane } from "../../core/control-plane.ts";
import { type AccountId, parseAccount } from "../../core/domain/accounts/account.ts";
import { portside } from "../../hosts/http/index.ts";
import { openConsole } from "../support/console/browser.ts";
import { serveMemoryConsole } from "../support/console/served-console.ts";
import { useBrowser } from "../support/console/use-browser.ts";

const browser = useBrowser();

test("works under a prefix", async () => {
  await using served = await serveMemoryConsole("/platform/api");
  await served.deploy("my-app");
  await using opened = await openConsole(browser(), served);
  await opened.page.getByRole("link", { name: "my-app", exact: true }).click();
  await opened.page.getByRole("heading", { name: "my-app" }).waitFor();
  await opened.page.reload();
  await opened.page.getByRole("heading", { name: "my-app" }).waitFor();
  expect(opened.page.url()).toBe(`${served.url}/console/#/deployments/my-app`);
  expect(opened.problems).toEqual([]);
});

test("works behind a proxy that removes a prefix", async () => {
  await using served = await serveMemoryConsole();
  await served.deploy("my-app");
  const proxy = Fastify({ forceCloseConnections: true });
  proxy.removeAllContentTypeParsers();
  proxy.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  proxy.all("/tools/*", async (request, reply) => {
    const names = ["content-type", "cookie", "host", "origin", "sec-fetch-site", "x-portside-console"];
    const sent = names.flatMap((name): [string, string][] =>
      request.headers[name] === undefined ? [] : [[name, String(request.headers[name])]],
    );
    // `fetch` would replace the host.
    const { statusCode, headers, body } = await send(served.url + request.url.slice("/tools".length), {
      method: request.method as "GET" | "POST",
      headers: Object.fromEntries(sent),
      ...(request.method === "GET" ? {} : { body: request.body as Buffer }),
    });
    for (const name of ["content-type", "set-cookie", "location", "content-security-policy"])
      if (headers[name] !== undefined) reply.header(name, headers[name]);
    return reply.code(statusCode).send(Buffer.from(await body.arrayBuffer()));
  });
  await proxy.listen({ host: "127.0.0.1", port: 0 });
  const { port } = proxy.server.address() as { port: number };
  const page = await browser().newPage();
  await page.goto(`http://127.0.0.1:${port}/tools/console`);
  await page.getByLabel("API key").fill(served.key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("link", { name: "my-app", exact: true }).waitFor();
  expect(page.url()).toMatch(/\/tools\/console\/(#\/)?$/);
  await page.close();
  await proxy.close();
});

/** Serves the console in an application that signs its users in. */
const serveEmbedded = async (
  user: string | (() => string | undefined) | undefined,
  ports = createMemoryProvider().ports,
) => {
  const app = Fastify({ forceCloseConnections: true });
  const controlPlane = createControlPlane(ports);
  const caller = () => {
    const name = typeof user === "function" ? user() : user;
    return name === undefined ? undefined : { account: parseAccount(name) as AccountId, credentialId: "own-session" };
  };
  // biome-ignore lint/nursery/noMisusedPromises: a plugin may be asynchronous; the type has an overload for it
  await app.register(portside, { controlPlane, caller });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as { port: number };
  return {
    controlPlane,
    url: `http://127.0.0.1:${port}/console/`,
    [Symbol.asyncDispose]: async () => {
      await controlPlane.close();
      await app.close();
    },
  };
};

test("opens without a sign-in page for a user whom the application has signed in", async () => {
  await using served = await serveEmbedded("acme");
  const page = await browser().newPage();
  await page.goto(served.url);
  await page.getByText("No deployments yet").waitFor();
  expect(await page.getByRole("button", { name: "Sign out" }).count()).toBe(0);
  await page.close();
});

test("keeps the session of the application if the user opens a link, and leaves the link unused", async () => {
  const { ports } = createMemoryProvider();
  await using served = await serveEmbedded("acme", ports);
  const { key } = (await ports.identity.keys.create("other" as AccountId, "other"))._unsafeUnwrap();
  const { controlPlane } = served;
  const principal = (await controlPlane.authenticate({ apiKey: key }))._unsafeUnwrap();
  const { token } = (await controlPlane.createConsoleLink(principal))._unsafeUnwrap();
  const page = await browser().newPage();
  const open = async () => {
    await page.goto(`${served.url}#link=${token}`);
    await page.getByText("No deployments yet").waitFor();
    await page.getByRole("status").getByText("The link was not used").waitFor();
    expect(page.url()).toBe(`${served.url}#/`);
    expect(await page.getByRole("button", { name: "Sign out" }).count()).toBe(0);
  };
  await open();
  // The page is open already.
  await open();
  expect((await controlPlane.signIn({ link: token }, "::1")).isOk()).toBe(true);
  await page.close();
});

test("prefers the session of the application to a stored session of the console", async () => {
  const { ports } = createMemoryProvider();
  const { key } = (await ports.identity.keys.create("other" as AccountId, "other"))._unsafeUnwrap();
  const users: { current: string | undefined } = { current: undefined };
  await using served = await serveEmbedded(() => users.current, ports);
  const context = await browser().newContext();
  const page = await context.newPage();
  await page.goto(served.url);
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.locator(".account").getByText("other").waitFor();
  users.current = "acme";
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("The application has signed you in. Sign out there.").waitFor();
  expect(await page.locator(".account").textContent()).toBe("Account");

  users.current = undefined;
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.locator(".account").getByText("other").waitFor();
  const other = await context.newPage();
  await other.goto(served.url);
  await other.locator(".account").getByText("other").waitFor();
  users.current = "acme";
  await page.reload();
  await expect.poll(() => page.locator(".account").textContent()).toBe("Account");
  await expect.poll(() => other.locator(".account").textContent()).toBe("Account");
  expect(await page.getByRole("button", { name: "Sign out" }).count()).toBe(0);
  await context.close();
});

test("offers only the ways to sign in that the application supports", async () => {
  const { ports } = createMemoryProvider();
  const { sessions: _sessions, ...identity } = ports.identity;
  await using served = await serveEmbedded(undefined, { ...ports, identity });
  const page = await browser().newPage();
  await page.goto(served.url);
  await page.getByText("Sign in there, and reload the page.").waitFor();
  await expect.poll(() => page.getByLabel("API key").count()).toBe(0);
  expect(await page.getByText("portside console").count()).toBe(0);
  await page.close();
});
