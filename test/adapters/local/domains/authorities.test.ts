/** The certificate authorities of the settings: their files, and their names in the state. */
import { join } from "node:path";
import { expect, test } from "vitest";
import type { AcmeAuthority } from "../../../../adapters/acme/domains/authority.ts";
import { createAuthorities, nameAuthorities, updateEmails } from "../../../../adapters/local/domains/authorities.ts";
import { createLocalProvider, localConfigSchema } from "../../../../adapters/local/index.ts";
import { prepareKey } from "../../../../adapters/local/secrets/key-file.ts";
import { CertificateRows } from "../../../../adapters/local/state/certificates.ts";
import { openState } from "../../../../adapters/local/state/database.ts";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { newPrivateKey } from "../../../../adapters/shared/domains/x509.ts";
import { createSystemClock } from "../../../../adapters/shared/runtime/system.ts";
import type { DomainName } from "../../../../core/domain/domains/domain-name.ts";
import { type Unavailable, unavailable } from "../../../../core/errors.ts";
import type { OrderFailed } from "../../../../core/ports/certificate-authority.ts";
import { errAsync, okAsync } from "../../../../core/result.ts";
import { expectOk } from "../../../contracts/support.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { startPebble } from "../../../support/domains/pebble.ts";
import { startResponder } from "../../../support/domains/responder.ts";
import { recorder } from "../../../support/providers/memory-platform.ts";
import { createTestAuthority } from "../../../support/tls/test-authority.ts";
import { eventually } from "../../../support/vitest/eventually.ts";
import { needs } from "../../../support/vitest/machine.ts";

const open = (given: object) => {
  const settings = localConfigSchema.parse({ dataDir: "unused", tlsPort: 443, acmeEmail: "ops@a.example", ...given });
  return createAuthorities(settings, {} as never);
};

test("names the file and the option if a file of the settings cannot be used", async () => {
  const { ca } = createTestAuthority();
  using folder = folderWith({ "ca.pem": ca, "eab.key": "zWNDZM6eQGHWpSRTPal5eIUYFTu7\n", empty: "" });
  const at = (name: string) => join(folder.path, name);
  const account = (file: string) => ({ acmeEabKid: "kid-1", acmeEabKeyFile: at(file) });
  for (const file of ["empty", "eab.key"])
    expect(() => open({ acmeCa: at(file) })).toThrow(
      `The file ${at(file)} contains no certificate in PEM. Correct --acme-ca.`,
    );
  for (const file of ["empty", "ca.pem"])
    expect(() => open(account(file))).toThrow(
      `The file ${at(file)} must contain only the key, as base64url. Correct --acme-eab-key-file.`,
    );
  for (const authority of open({ acmeCa: at("ca.pem"), ...account("eab.key") })) await authority.close();
});

test("authorities on one host have different names, and a repeated directory is one authority", async () => {
  const acmeDirectory = ["https://ca.example/one", "https://ca.example/two?x=1", "https://ca.example/directory"];
  const authorities = open({ acmeDirectory: [...acmeDirectory, "https://CA.example:443/one"] });
  expect(authorities.map(({ name }) => name)).toEqual(["ca.example/one", "ca.example/two?x=1", "ca.example"]);
  await Promise.all(authorities.map((authority) => authority.close()));
});

test("a certificate and an order of an earlier version keep their authority", () => {
  using folder = folderWith();
  using db = openState(folder.path);
  const rows = new CertificateRows(db);
  const names = () => rows.states().map(({ authority, nextAuthority }) => [authority, nextAuthority]);
  rows.change("a.example.com" as DomainName, { authority: "ca.example" });
  rows.change("b.example.com" as DomainName, { nextAuthority: "ca.example" });
  rows.change("c.example.com" as DomainName, { authority: "acme-v02.api.letsencrypt.org" });
  nameAuthorities(["https://acme-v02.api.letsencrypt.org/directory", "https://ca.example/directory"], rows);
  expect(names()[0]).toEqual(["ca.example", null]);
  nameAuthorities(["https://ca.example/one", "https://ca.example/two"], rows);
  expect(names()).toEqual([
    ["ca.example/one", null],
    [null, "ca.example/one"],
    ["acme-v02.api.letsencrypt.org", null],
  ]);
  // An authority with the name of the host, which is no longer configured.
  rows.change("a.example.com" as DomainName, { authority: "ca.example" });
  rows.putAccount({ directory: "https://ca.example/directory", key: Buffer.from("sealed"), url: null });
  nameAuthorities(["https://ca.example/two"], rows);
  expect(names()[0]).toEqual(["ca.example", null]);
});

test("sends a changed e-mail address until the authority responds, but not if the authority refuses it", async () => {
  const clock = createManualClock();
  const { logger, logged } = recorder();
  const asked: string[] = [];
  const authority = (name: string, failures: readonly (OrderFailed | Unavailable)[]) => {
    const left = [...failures];
    return {
      name,
      updateEmail: () => {
        asked.push(name);
        const failure = left.shift();
        return failure === undefined ? okAsync(undefined) : errAsync(failure);
      },
    };
  };
  const refused = { kind: "order_failed", message: "refused", retryAfterMs: null, othersMayIssue: true } as const;
  const limited = { ...refused, retryAfterMs: 999_999_999_000 };
  const stopped = new AbortController();
  const updated = updateEmails(
    [
      authority("down", [unavailable("down", 60), unavailable("down", 7200)]),
      authority("strict", [refused]),
      authority("busy", [limited]),
      authority("broken", Array(20).fill(unavailable("down", 86_400))),
    ],
    { clock, logger, signal: stopped.signal },
  );
  const times = (name: string) => asked.filter((one) => one === name).length;
  await clock.advance(1);
  expect(["down", "strict", "busy"].map(times)).toEqual([1, 1, 1]);
  await clock.advance(60 * 60_000);
  expect(times("down")).toBe(2);
  await clock.advance(60 * 60_000);
  expect(times("down")).toBe(2);
  await clock.advance(60 * 60_000);
  expect(["down", "strict", "busy"].map(times)).toEqual([3, 1, 1]);
  await clock.advance(7 * 24 * 60 * 60_000);
  expect(["down", "strict", "busy"].map(times)).toEqual([3, 1, 2]);
  stopped.abort();
  await clock.advance(1);
  await updated;
  expect(logged[0]).toContain("could not change the e-mail address");
});

test("a server sends a changed e-mail address without an order, and stores it", async (context) => {
  needs(context, "pebble");
  await using responder = await startResponder(["http-01"]);
  await using pebble = await startPebble(responder);
  using folder = folderWith({ "ca.pem": pebble.ca });
  const dataDir = join(folder.path, "data");
  const acmeCa = join(folder.path, "ca.pem");
  const settings = (acmeEmail: string) => ({
    ...{ dataDir, acmeEmail, acmeDirectory: [pebble.directory], acmeCa, publicAddress: ["203.0.113.9"] },
    ...{ ingressPort: 0, tlsPort: 0, runner: "process" as const },
  });
  const id = { kind: "authority", name: pebble.directory } as const;
  const storedEmail = (): unknown => {
    using db = openState(dataDir);
    const sealed = new CertificateRows(db).account(pebble.directory)?.key as Uint8Array;
    return JSON.parse(prepareKey(db, dataDir, undefined).openPrivateKey(id, sealed) as string).email;
  };
  await (await createLocalProvider(settings("first@acme.example"))).close();
  {
    using db = openState(dataDir);
    const deps = { rows: new CertificateRows(db), cipher: prepareKey(db, dataDir, undefined) };
    const config = localConfigSchema.parse(settings("first@acme.example"));
    const [authority] = createAuthorities(config, { ...deps, clock: createSystemClock(), logger: recorder().logger });
    const request = { host: "app.acme.example", key: newPrivateKey(), responder, started: () => okAsync(undefined) };
    await expectOk((authority as AcmeAuthority).order(request));
    await authority?.close();
  }
  expect(storedEmail()).toBe("first@acme.example");
  const server = await createLocalProvider(settings("second@acme.example"));
  await eventually(async () => expect(storedEmail()).toBe("second@acme.example"));
  await server.close();
});
