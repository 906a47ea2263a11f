/** The operator's certificate: two files, which Portside reads again when they change. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { type BigIntStats, readFileSync, statSync } from "node:fs";
import { stat } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import type { Logger } from "../../../core/ports/system.ts";
import { tryOr } from "../../shared/runtime/try-or.ts";
import { type Certificate, handshakeSettings } from "./certificates.ts";

export interface CertificatePaths {
  readonly cert: string;
  readonly key: string;
}

/**
 * How often Portside checks the files. Polling also detects replaced symbolic links, which Certbot and Kubernetes use.
 */
const CHECK_MS = 1000;

const read = (path: string, setting: string): string => {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new Error(
      `${setting} ${path} cannot be read: ${(cause as Error).message}. Pass the path of a PEM file that this user may read.`,
      { cause },
    );
  }
};

/** Changes when a file is written or replaced. */
const fingerprint = ({ ino, size, mtimeNs, ctimeNs }: BigIntStats): string => `${ino} ${size} ${mtimeNs} ${ctimeNs}`;

const orThrow = <T>(parse: () => T, message: string): T => {
  try {
    return parse();
  } catch (cause) {
    throw new Error(message, { cause });
  }
};

/**
 * Reads the certificate and checks that the key belongs to it.
 * @throws an `Error` that names the file
 */
export const readCertificateFiles = ({ cert, key }: CertificatePaths): Certificate => {
  const chain = read(cert, "--tls-cert");
  const privateKey = read(key, "--tls-key");
  // TLS would accept an empty file, and then fail each handshake.
  const first = orThrow(
    () => new X509Certificate(chain),
    `--tls-cert ${cert} contains no certificate in PEM. Pass a file with the certificate chain.`,
  );
  const parsedKey = orThrow(
    () => createPrivateKey(privateKey),
    `--tls-key ${key} contains no private key in PEM that can be read without a passphrase. Pass a file with such a key.`,
  );
  if (!first.checkPrivateKey(parsedKey))
    throw new Error(
      `--tls-key ${key} does not belong to the first certificate in --tls-cert ${cert}. Pass the key of the host's certificate, and put that certificate before the intermediate ones.`,
    );
  try {
    createSecureContext({ ...handshakeSettings, cert: chain, key: privateKey });
  } catch (cause) {
    const { message } = cause as Error;
    throw new Error(
      `--tls-cert ${cert} and --tls-key ${key} cannot be used: ${message}. Pass the certificate chain and the key of its first certificate in PEM.`,
      { cause },
    );
  }
  return { chain, key: () => privateKey };
};

export class CertificateFiles implements Disposable {
  readonly #paths: CertificatePaths;
  readonly #logger: Logger;
  readonly #timer: NodeJS.Timeout;
  #current: Certificate;
  /** The fingerprints of the files before the last read, so that no change during the read is lost. */
  #version: string;

  /** @throws an `Error` that names the file if the pair cannot be used */
  constructor(paths: CertificatePaths, logger: Logger, checkMs = CHECK_MS) {
    this.#paths = paths;
    this.#logger = logger;
    const found = this.#files.map((path) => tryOr(() => fingerprint(statSync(path, { bigint: true })), ""));
    this.#version = found.join();
    this.#current = readCertificateFiles(paths);
    this.#timer = setInterval(() => void this.#check(), checkMs).unref();
  }

  get #files(): readonly string[] {
    return [this.#paths.cert, this.#paths.key];
  }

  get current(): Certificate {
    return this.#current;
  }

  async #check(): Promise<void> {
    const found = await Promise.all(
      this.#files.map((path) => stat(path, { bigint: true }).then(fingerprint, () => "")),
    );
    if (found.join() === this.#version) return;
    this.#version = found.join();
    this.#reload();
  }

  /** Keeps the current pair if the new one is broken, for example because only one file has been replaced so far. */
  #reload(): void {
    try {
      this.#current = readCertificateFiles(this.#paths);
      this.#logger.info("loaded the changed certificate", { file: this.#paths.cert });
    } catch (cause) {
      this.#logger.warn("the changed certificate cannot be used; the previous one stays", {
        cause,
        next: "replace both files with a certificate and its private key",
      });
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
