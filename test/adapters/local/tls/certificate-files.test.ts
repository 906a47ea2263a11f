/** The operator's certificate files: errors at the start, and changes while Portside runs. */
import { createPrivateKey } from "node:crypto";
import { renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CertificateFiles } from "../../../../adapters/local/tls/certificate-files.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { recordingLogger, silentLogger } from "../../../support/logs/silent-logger.ts";
import { createTestAuthority } from "../../../support/tls/test-authority.ts";

const authority = createTestAuthority();

const pairIn = (folder: string) => {
  const paths = { cert: join(folder, "cert.pem"), key: join(folder, "key.pem") };
  const write = ({ chain, privateKey } = authority.issue("a.example")) => {
    writeFileSync(paths.key, privateKey);
    writeFileSync(paths.cert, chain);
    return chain;
  };
  return { paths, write };
};

test("names the file and the problem of a pair that cannot be used", () => {
  using folder = folderWith();
  const { paths, write } = pairIn(folder.path);
  write();
  const { chain, privateKey } = authority.issue("a.example");
  const encrypted = createPrivateKey(privateKey)
    .export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "secret" })
    .toString();
  const noCertificate = `--tls-cert ${paths.cert} contains no certificate in PEM.`;
  const noKey = `--tls-key ${paths.key} contains no private key in PEM that can be read without a passphrase.`;
  const otherKey = `--tls-key ${paths.key} does not belong to the first certificate in --tls-cert ${paths.cert}.`;
  const broken = `${chain}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`;
  const cases: [cert: string, key: string, message: string][] = [
    ["", privateKey, noCertificate],
    ["not PEM", privateKey, noCertificate],
    [privateKey, chain, noCertificate],
    [chain, "", noKey],
    [chain, "not PEM", noKey],
    [chain, encrypted, noKey],
    [chain, authority.issue("a.example").privateKey, otherKey],
    [`${authority.ca}${chain}`, privateKey, otherKey],
    [broken, privateKey, `--tls-cert ${paths.cert} and --tls-key ${paths.key} cannot be used: `],
  ];
  for (const [cert, key, message] of cases) {
    writeFileSync(paths.cert, cert);
    writeFileSync(paths.key, key);
    expect(() => new CertificateFiles(paths, silentLogger)).toThrow(message);
  }
  expect(() => new CertificateFiles({ ...paths, key: "/missing.pem" }, silentLogger)).toThrow(
    "--tls-key /missing.pem cannot be read",
  );
});

test("uses a changed pair, and keeps the previous one while the new one is broken", async () => {
  using folder = folderWith();
  const { paths, write } = pairIn(folder.path);
  const first = write();
  const { logger, logged } = recordingLogger();
  using files = new CertificateFiles(paths, logger, 20);
  expect(files.current.chain).toBe(first);
  // A program that writes the file first empties it.
  for (const broken of ["", authority.issue("b.example").chain]) {
    logged.length = 0;
    writeFileSync(paths.cert, broken);
    await expect.poll(() => logged.join()).toContain("the previous one stays");
    expect(files.current.chain).toBe(first);
  }
  const second = write();
  await expect.poll(() => files.current.chain).toBe(second);
});

test.each(["cert", "key"] as const)("keeps the previous pair while the file of the %s is empty", async (name) => {
  using folder = folderWith();
  const { paths, write } = pairIn(folder.path);
  const first = write();
  const { logger, logged } = recordingLogger();
  using files = new CertificateFiles(paths, logger, 20);
  writeFileSync(paths[name], "");
  await expect.poll(() => logged.length).toBe(1);
  expect(logged[0]).toContain("the previous one stays");
  expect(files.current.chain).toBe(first);
});

test("sees links that are replaced", async () => {
  using folder = folderWith();
  const { paths, write } = pairIn(folder.path);
  write();
  const links = { cert: join(folder.path, "live.pem"), key: join(folder.path, "live-key.pem") };
  const link = (name: "cert" | "key", target: string) => {
    symlinkSync(target, `${links[name]}.new`);
    renameSync(`${links[name]}.new`, links[name]);
  };
  for (const name of ["cert", "key"] as const) link(name, paths[name]);
  using files = new CertificateFiles(links, silentLogger, 20);
  const next = authority.issue("c.example");
  writeFileSync(join(folder.path, "cert2.pem"), next.chain);
  writeFileSync(join(folder.path, "key2.pem"), next.privateKey);
  link("key", join(folder.path, "key2.pem"));
  link("cert", join(folder.path, "cert2.pem"));
  await expect.poll(() => files.current.chain).toBe(next.chain);
});
