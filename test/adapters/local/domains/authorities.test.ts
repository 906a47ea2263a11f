/** The certificate authorities of the settings: their files, and their names in the state. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { createAuthorities, nameAuthorities } from "../../../../adapters/local/domains/authorities.ts";
import { localConfigSchema } from "../../../../adapters/local/index.ts";
import { CertificateRows } from "../../../../adapters/local/state/certificates.ts";
import { openState } from "../../../../adapters/local/state/database.ts";
import type { DomainName } from "../../../../core/domain/domains/domain-name.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { createTestAuthority } from "../../../support/tls/test-authority.ts";

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
