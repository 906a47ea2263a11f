/** `portside domain` against the real HTTP API over the memory provider. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import type { DomainRow } from "../../../../core/domain/domains/domain.ts";
import { waitUntilActive } from "../../../../hosts/cli/domains/show.ts";
import { ApiError, ConnectionError } from "../../../../hosts/client/errors.ts";
import { sourceOf } from "../../../support/archives/archives.ts";
import { portside, type RunOptions, terminal } from "../../../support/cli/terminal.ts";
import { serveMemory } from "../../../support/http/api.ts";

const start = async () => {
  const api = await serveMemory();
  await api.deploy({ function_name: "my-app", volumes: "{}" }, sourceOf({ "index.js": "run()" }));
  const env = { PORTSIDE_URL: api.url, PORTSIDE_API_KEY: await api.key() };
  return { api, run: (args: string, options: RunOptions = {}) => portside(args.split(" "), { env, ...options }) };
};

test("a domain is added with its records, checked, listed and removed", async () => {
  const { api, run } = await start();
  await using _api = api;
  expect(await run("domain list")).toMatchObject({ code: 0, stderr: expect.stringContaining("You have no domains.") });

  const added = await run("domain add App.Example.com my-app");
  expect(added).toMatchObject({ code: 0, stderr: "" });
  const lines = added.stdout.split("\n");
  expect(lines[0]).toBe("app.example.com is pending. Create the DNS records, then check the domain.");
  const [txt = [], cname = []] = [lines[2]?.split("\t"), lines[3]?.split("\t")];
  expect(txt).toEqual([
    "TXT",
    "_portside.app.example.com",
    expect.stringMatching(/^portside-verification=/),
    "ownership",
  ]);
  expect(cname).toEqual(["CNAME", "app.example.com", "ingress.memory.invalid", "address"]);
  expect(lines[5]).toBe("Create the records, then run 'portside domain check app.example.com --wait'.");

  const pending = await run("domain check app.example.com");
  expect(pending).toMatchObject({ code: 1, stdout: expect.stringContaining("'app.example.com' has no address.") });
  expect(pending.stdout).toContain(txt.join("\t"));

  const { records } = JSON.parse((await run("domain add app.example.com my-app --json")).stdout);
  api.memory.dns.add(...records);
  expect(await run("domain check app.example.com")).toEqual({
    code: 0,
    stdout: "app.example.com is active. Requests to 'app.example.com' reach 'my-app'.\n",
    stderr: "",
  });
  const [row = ""] = (await run("domain ls")).stdout.split("\n");
  expect(row).toMatch(
    /^app\.example\.com\tmy-app\tactive\t\d+ s\t-\tRequests to 'app\.example\.com' reach 'my-app'\.$/,
  );
  expect(JSON.parse((await run("domain list --json")).stdout)).toMatchObject([{ status: "active", records }]);

  expect(await run("domain remove app.example.com")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("Confirm with -y."),
  });
  expect(await run("domain rm app.example.com -y")).toEqual({
    code: 0,
    stdout: "'app.example.com' was removed. You can delete its DNS records.\n",
    stderr: "",
  });
  expect(await run("domain remove app.example.com -y")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("Your account has no domain 'app.example.com'. Run 'portside domain list'"),
  });
});

test("list shows the date on which a certificate expires", async () => {
  const { api, run } = await start();
  await using _api = api;
  await run("domain add app.example.com my-app");
  const [row] = JSON.parse((await run("domain list --json")).stdout);
  const dated = { ...row, certificate: { not_after: "2026-03-04T05:06:07.000000+00:00" } };
  const server = createServer((_req, res) =>
    res.setHeader("content-type", "application/json").end(JSON.stringify([dated])),
  );
  await using listening = server.listen(0, "127.0.0.1");
  await once(listening, "listening");
  const { port } = listening.address() as AddressInfo;
  const { stdout } = await portside(["domain", "list"], {
    env: { PORTSIDE_URL: `http://127.0.0.1:${port}`, PORTSIDE_API_KEY: "any" },
    columns: 200,
  });
  expect(stripVTControlCharacters(stdout)).toMatch(/CERTIFICATE UNTIL +DETAIL *\n.* 2026-03-04 +Create/);
});

test("a terminal shows the records as a table", async () => {
  const { api, run } = await start();
  await using _api = api;
  const { stdout } = await run("domain add example.com my-app", { columns: 200 });
  const shown = stripVTControlCharacters(stdout);
  expect(shown).toMatch(/^TYPE +NAME +VALUE +PURPOSE/m);
  expect(shown).toMatch(/^A +example\.com +192\.0\.2\.1 +address/m);
  expect(shown).toMatch(/^AAAA +example\.com +2001:db8::1 +address/m);
});

test("rows of a table end with their text, so that a narrow terminal does not show empty lines", async () => {
  const { api, run } = await start();
  await using _api = api;
  await run("domain add checked.example.com my-app");
  await run("domain add example.com my-app");
  await run("domain check checked.example.com");
  const { stdout } = await run("domain list", { columns: 60 });
  const shown = stripVTControlCharacters(stdout);
  expect(shown).toMatch(/^DOMAIN .* DETAIL$/m);
  expect(shown).toMatch(/^example\.com .* Create the DNS records, then check the domain\.$/m);
});

test("--wait reports the problem once, and ends when the domain is active", async () => {
  const { api, run } = await start();
  await using _api = api;
  const { dns } = api.memory;
  const { code, stdout, stderr } = await run("domain add app.example.com my-app --wait", {
    onOutput: (text) => {
      const value = /portside-verification=[\w-]+/.exec(text)?.[0];
      if (value !== undefined) dns.add({ type: "TXT", name: "_portside.app.example.com", value });
    },
    // The first check reports the missing address.
    onError: () => dns.add({ type: "CNAME", name: "app.example.com", value: "ingress.memory.invalid" }),
  });
  expect([code, stderr]).toEqual([0, "'app.example.com' has no address. Create the address records.\n"]);
  expect(stdout.trimEnd().split("\n").at(-1)).toBe("Requests to 'app.example.com' reach 'my-app'.");
  expect(await run("domain check app.example.com --wait --json")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('"status":"active"'),
  });
});

test("--wait continues after a temporary error, and ends after any other error or if the first check fails", async () => {
  const waiting = (...results: readonly (DomainRow["status"] | Error)[]) => {
    const left = [...results];
    const checkDomain = async () => {
      const next = left.shift() ?? "active";
      if (next instanceof Error) throw next;
      return { domain: "app.example.com", status: next, detail: `It is ${next}.` } as DomainRow;
    };
    return waitUntilActive(terminal().io, { checkDomain }, "app.example.com");
  };
  const lost = new ConnectionError("The server does not respond.");
  const gone = new ApiError(404, "Your account has no domain.");
  await expect(waiting(lost, "active")).rejects.toBe(lost);
  const [row] = await Promise.all([
    waiting("pending", lost, "active"),
    expect(waiting("pending", gone)).rejects.toBe(gone),
  ]);
  expect(row.status).toBe("active");
});

test("Ctrl-C ends the wait", async () => {
  const { api, run } = await start();
  await using _api = api;
  await run("domain add app.example.com my-app");
  const interrupted = new AbortController();
  const result = await run("domain check app.example.com --wait", {
    signal: interrupted.signal,
    onError: () => interrupted.abort(),
  });
  expect(result.code).toBe(130);
  expect(result.stderr).toContain("The TXT record that proves ownership does not exist.");
});

test("errors name the field, the problem and the next step", async () => {
  const { api, run } = await start();
  await using _api = api;
  const failed = async (args: string) => (await run(args)).stderr;
  expect(await failed("domain add *.example.com my-app")).toContain("domain: must not be a wildcard; add each domain");
  expect(await failed("domain add co.uk my-app")).toContain("domain: must be a domain that you registered");
  expect(await failed("domain add app.example.com none")).toContain("The deployment 'none' does not exist.");
  expect(await run("domain add app.example.com")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("Missing NAME. Usage: portside domain add DOMAIN NAME"),
  });
  expect(await run("domain")).toMatchObject({ code: 2, stderr: expect.stringContaining("add|list|check|remove") });
});
