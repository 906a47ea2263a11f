/** The HTTP port: redirects to HTTPS, and answers validations by certificate authorities. */
import { expect, test } from "vitest";
import { startNamedIngress } from "../../../support/handover/named-ingress.ts";
import { send } from "../../../support/http/clients.ts";
import { createTestAuthority } from "../../../support/tls/test-authority.ts";
import { testTls } from "../../../support/tls/tls-ingress.ts";

const start = async () => {
  const tls = testTls({ "app.localhost": createTestAuthority().issue("app.localhost") });
  const named = await startNamedIngress("one", [], { tls: tls.config });
  return { ...named, tls, http: `http://127.0.0.1:${named.ingress.httpPort}`, tlsPort: named.ingress.tlsPort };
};

test("redirects every method and path to HTTPS, and keeps the connection", async () => {
  await using one = await start();
  const headers = { host: `App.localhost:${one.ingress.httpPort}` };
  for (const method of ["GET", "POST"]) {
    const reply = await send(one.http, {
      method,
      path: "//x?q=%0d%0a",
      headers,
      ...(method === "POST" && { body: "12" }),
    });
    expect(reply.status).toBe(308);
    expect(reply.headers.location).toBe(`https://app.localhost:${one.tlsPort}//x?q=%0d%0a`);
  }
});

test("does not redirect to a host without a certificate", async () => {
  await using one = await start();
  for (const host of ["other.localhost", "evil.example", "app.localhost@evil.example", "127.0.0.1"])
    expect((await send(one.http, { headers: { host } })).status).toBe(404);
});

test("answers the published validations of the host, and redirects the others", async () => {
  await using one = await start();
  const ask = (host: string, token: string) =>
    send(one.http, { path: `/.well-known/acme-challenge/${token}`, headers: { host } });
  one.tls.challengeAnswers.set("new.example token-1", "token-1.thumbprint");
  const reply = await ask("NEW.example:80", "token-1");
  expect([reply.status, reply.text]).toEqual([200, "token-1.thumbprint"]);
  expect((await ask("new.example", "token-2")).status).toBe(404);
  expect((await ask("app.localhost", "token-1")).status).toBe(308);
});
