/** The files of this machine, besides /usr, that a sandbox mounts read-only. */

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
