/** The files that the settings of certificate authorities name. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { createAuthorities } from "../../../../adapters/local/domains/authorities.ts";
import { localConfigSchema } from "../../../../adapters/local/index.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { createTestAuthority } from "../../../support/tls/test-authority.ts";

test("names the file and the option if a file of the settings cannot be used", async () => {
  const { ca } = createTestAuthority();
  using folder = folderWith({ "ca.pem": ca, "eab.key": "zWNDZM6eQGHWpSRTPal5eIUYFTu7\n", empty: "" });
  const at = (name: string) => join(folder.path, name);
  const open = (given: object) => {
    const settings = localConfigSchema.parse({ dataDir: "unused", tlsPort: 443, acmeEmail: "ops@a.example", ...given });
    return createAuthorities(settings, {} as never);
  };
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
