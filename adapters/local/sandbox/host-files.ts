/** The files, besides this machine's /usr, that a sandbox mounts read-only. */
import { chmodSync, writeFileSync } from "node:fs";
import type { Bind } from "./runner.ts";

/** Symbolic links into /usr on most systems, folders on the others. Some do not exist. */
export const hostFolders = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/** Below /etc: settings of the network and the certificates. Never private keys, which a service that is root could read. */
export const readableEtc = [
  "ssl/certs",
  "ssl/openssl.cnf",
  "pki/tls/certs",
  "pki/ca-trust",
  "resolv.conf",
  "nsswitch.conf",
  "hosts",
  "ld.so.cache",
  "alternatives",
  "localtime",
  "ca-certificates",
];

/** Writes the file in place, without replacing it: a running sandbox has mounted the file itself, not its path. */
export const writeMounted = (host: string, inside: string, text: string): Bind => {
  writeFileSync(host, text);
  // Accounts' users must be able to read the file, whatever the umask.
  chmodSync(host, 0o644);
  return { host, inside, writable: false };
};
