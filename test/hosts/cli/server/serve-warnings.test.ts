/** The warnings of `serve` after the start. */
import { expect, test } from "vitest";
import { missing, offered } from "../../../../core/domain/wire/capabilities.ts";
import { startWarnings } from "../../../../hosts/cli/server/serve.ts";

const warningsOf = (
  settings: { host: string; acmeEmail?: string },
  https?: string,
  domains = missing("no address"),
) => {
  const capabilities = { isolation: "bubblewrap", runs: offered(), domains } as never;
  const given = { host: settings.host, port: 8080, acmeEmail: settings.acmeEmail } as never;
  return [...startWarnings(given, { https, capabilities })];
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
