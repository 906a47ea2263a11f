/** `portside serve`: the console is on, behind a proxy with `--console-origin` and `--trust-proxy`, or off with `--no-console`. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { folderWith } from "../../../support/archives/folders.ts";
import { portside } from "../../../support/cli/terminal.ts";

/** Runs `serve` with the memory provider, calls `work` with the API's URL and the first key, and stops the server. */
const served = async <T>(flags: readonly string[], work: (url: string, key: string) => Promise<T>): Promise<T> => {
  using folder = folderWith();
  const stop = new AbortController();
  const ready = Promise.withResolvers<{ url: string; api_key: string }>();
  const onOutput = (text: string) => text.includes('"ready"') && ready.resolve(JSON.parse(text));
  const place = ["--data-dir", join(folder.path, "data"), "--port", "0", "--log-level", "silent"];
  const args = ["serve", "--provider", "memory", "--json", ...place, ...flags];
  const running = portside(args, { signal: stop.signal, onOutput });
  try {
    const ended = running.then(({ stderr }) => Promise.reject(new Error(stderr)));
    const { url, api_key } = await Promise.race([ready.promise, ended]);
    return await work(url, api_key);
  } finally {
    stop.abort();
    await running;
  }
};

const post = (url: string, headers: Record<string, string>, body: object) =>
  fetch(url, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(body),
  });

const consoleOf = async (url: string, key: string) => {
  const response = await fetch(`${url}/v1/capabilities`, { headers: { "x-api-key": key } });
  return ((await response.json()) as { console: unknown }).console;
};

test("has a console, to which a key signs in", async () => {
  const signedIn = await served([], async (url, key) => {
    expect(await consoleOf(url, key)).toEqual({ supported: true, sign_in: ["link", "key"] });
    return post(`${url}/v1/console/sign-in`, {}, { key });
  });
  expect(signedIn.status).toBe(200);
});

test("--no-console turns off the sign-in", async () => {
  const statuses = await served(["--no-console"], async (url, key) => {
    expect(await consoleOf(url, key)).toEqual({ supported: false, sign_in: [] });
    return [await post(`${url}/v1/console/sign-in`, {}, { key }), await post(`${url}/v1/console/link`, {}, {})];
  });
  expect(statuses.map(({ status }) => status)).toEqual([404, 404]);
});

test("--console-origin is the origin of links, from which a page signs in through a proxy with TLS", async () => {
  const origin = "https://api.example.com";
  const [link, signedIn, other] = await served(["--console-origin", origin], async (url, key) => [
    (await (await post(`${url}/v1/console/link`, { "x-api-key": key }, {})).json()) as { url: string },
    await post(`${url}/v1/console/sign-in`, { origin }, { key }),
    await post(`${url}/v1/console/sign-in`, { origin: "https://other.example.com" }, { key }),
  ]);
  expect(link.url).toMatch(/^https:\/\/api\.example\.com\/console\/#link=/);
  expect(signedIn.status).toBe(200);
  expect(signedIn.headers.get("set-cookie")).toMatch(/^__Host-portside_session=/);
  expect(other.status).toBe(403);
});

test.each([
  [[], 429],
  [["--trust-proxy", "192.0.2.1", "--trust-proxy", "loopback"], 401],
])(
  "with the flags %j, a client of a proxy on this machine gets %d after 20 invalid keys from other clients",
  async (flags, status) => {
    const statuses = await served(flags, async (url) => {
      const attempt = (address: string) =>
        post(`${url}/v1/console/sign-in`, { "x-forwarded-for": address }, { key: "psk_wrong" });
      for (let count = 0; count < 20; count++) expect((await attempt("198.51.100.1")).status).toBe(401);
      return [await attempt("198.51.100.1"), await attempt("198.51.100.2")];
    });
    expect(statuses.map((one) => one.status)).toEqual([429, status]);
  },
);

test.each(["http://api.example.com", "http://10.0.0.7:8080", "http://localhost.example.com"])(
  "--console-origin %s is a usage error, because sign-in needs HTTPS off this machine",
  async (text) => {
    const { code, stderr } = await portside(["serve", "--console-origin", text]);
    expect(code).toBe(2);
    expect(stderr).toContain("--console-origin must be an HTTPS origin, because sign-in needs HTTPS.");
  },
);

test.each(["https://api.example.com/", "https://api.example.com/x", "api.example.com"])(
  "--console-origin %s is a usage error",
  async (text) => {
    const { code, stderr } = await portside(["serve", "--console-origin", text]);
    expect(code).toBe(2);
    expect(stderr).toContain("--console-origin must be");
  },
);
