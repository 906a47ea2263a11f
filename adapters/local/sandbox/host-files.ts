/** What a sandboxed command has of this machine besides /usr, read-only. */

/** Links into /usr on most systems, folders on the others; those that are there. */
export const hostFolders = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/** Below /etc: how the network is reached, and how certificates are checked; no keys, which root's services could read. */
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
