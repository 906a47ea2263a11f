/** The warnings of `serve` after the start. */
import { expect, test } from "vitest";
import { missing, offered } from "../../../../core/domain/wire/capabilities.ts";
import { startWarnings } from "../../../../hosts/cli/server/serve.ts";

const warningsOf = (
  settings: { host: string; acmeEmail?: string; domain?: string; tlsPort?: number; tlsHost?: string; tlsCert?: string },
  https?: string,
  domains = missing("no address"),
  httpsApi?: string,
) => {
  const capabilities = { isolation: "bubblewrap", runs: offered(), domains } as never;
  const given = { port: 8080, ...settings } as never;
  return [...startWarnings(given, { https, httpsApi, capabilities })];
};

test("warns with the reason if --acme-email is set and the server orders no certificates", () => {
  const settings = { host: "127.0.0.1", acmeEmail: "ops@example.com" };
  expect(warningsOf(settings)).toEqual(["The server orders no certificates: no address."]);
  expect(warningsOf(settings, undefined, offered() as never)).toEqual([]);
  expect(warningsOf({ host: "127.0.0.1" })).toEqual([]);
});

test("warns about an API without TLS that other machines can reach", () => {
  expect(warningsOf({ host: "0.0.0.0" })).toEqual([expect.stringContaining("Set --tls-port")]);
  expect(warningsOf({ host: "0.0.0.0" }, "https://DOMAIN")).toEqual([expect.stringContaining("0.0.0.0:8080")]);
});

test("warns if --tls-cert does not contain the domain, at which the TLS port would serve the API", () => {
  const settings = { host: "127.0.0.1", domain: "apps.example.com", tlsCert: "cert.pem" };
  const warned = (given: typeof settings, httpsApi?: string) =>
    warningsOf(given, "https://NAME.apps.example.com", undefined, httpsApi);
  expect(warned(settings)).toEqual([expect.stringContaining("--tls-cert does not contain apps.example.com.")]);
  expect(warned(settings, "https://apps.example.com")).toEqual([]);
  expect(warned({ ...settings, domain: "https://apps.example.com" })).toEqual([]);
  expect(warned({ ...settings, domain: "Apps.Example.com" })).toEqual(warned(settings));
});

test("warns if the TLS port gets no certificates", () => {
  const settings = { host: "127.0.0.1", tlsPort: 443 };
  expect(warningsOf(settings, "https://DOMAIN")).toEqual([
    "Handshakes fail: the TLS port gets no certificates; set --acme-email, or --tls-cert and --tls-key.",
  ]);
  expect(warningsOf({ ...settings, tlsCert: "cert.pem" }, "https://DOMAIN")).toEqual([]);
  const orders = { ...settings, acmeEmail: "ops@example.com", tlsHost: "0.0.0.0" };
  expect(warningsOf(orders, "https://DOMAIN", offered() as never)).toEqual([]);
});

test("warns if a certificate authority cannot reach the TLS port", () => {
  const settings = { host: "127.0.0.1", tlsPort: 443, acmeEmail: "ops@example.com" };
  const warned = (given: typeof settings & { tlsHost?: string }) =>
    warningsOf(given, "https://DOMAIN", offered() as never);
  expect(warned(settings)).toEqual([expect.stringContaining("The TLS port listens only on 127.0.0.1, which")]);
  expect(warned({ ...settings, tlsHost: "::1" })).toEqual([expect.stringContaining("Set --tls-host 0.0.0.0")]);
  expect(warned({ ...settings, tlsHost: "203.0.113.1" })).toEqual([]);
});

test("advises a firewall if the API is reachable with and without TLS", () => {
  const [warning] = warningsOf({ host: "0.0.0.0" }, "https://NAME.a.example", undefined, "https://a.example");
  expect(warning).toContain("0.0.0.0:8080 without TLS. Open only --tls-port");
});
