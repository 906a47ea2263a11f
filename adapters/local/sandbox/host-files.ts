/** Files of this machine that a sandbox mounts read-only, in addition to /usr. */
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { tryOr } from "../../shared/runtime/try-or.ts";
import type { Bind } from "./runner.ts";

/** Symbolic links into /usr on most systems, folders on others. Some do not exist. */
export const hostFolders = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/**
 * Files below /etc that programs need, such as network settings and certificates. The list must not contain private
 * keys, which a service could read if the server runs as root.
 */
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

/**
 * Overwrites the file in place, because running sandboxes have mounted the file itself, not its path. Leaves an
 * unchanged file alone, because a sandbox could read the file while it is empty.
 */
export const writeMounted = (host: string, inside: string, text: string): Bind => {
  if (tryOr(() => readFileSync(host, "utf8"), undefined) !== text) writeFileSync(host, text);
  // The accounts' users must be able to read the file even if the server's umask is restrictive.
  chmodSync(host, 0o644);
  return { host, inside, writable: false };
};
