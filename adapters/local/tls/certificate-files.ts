/** The operator's certificate: two files, which Portside reads again when they change. */
import { readFileSync, type StatsListener, unwatchFile, watchFile } from "node:fs";
import type { Logger } from "../../../core/ports/system.ts";
import { type Certificate, contextOf } from "./certificates.ts";

export interface CertificatePaths {
  readonly cert: string;
  readonly key: string;
}

/** How often Portside checks the files. Polling also sees links that are replaced, as Certbot and Kubernetes do. */
const CHECK_MS = 1000;

const read = (path: string, setting: string): string => {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new Error(`${setting} ${path} cannot be read: ${(cause as Error).message}.`, { cause });
  }
};

/**
 * Reads the certificate and checks that the key belongs to it.
 * @throws an `Error` that names the file
 */
export const readCertificateFiles = ({ cert, key }: CertificatePaths): Certificate => {
  const chain = read(cert, "--tls-cert");
  const privateKey = read(key, "--tls-key");
  const certificate = { chain, key: () => privateKey };
  try {
    contextOf(certificate);
  } catch (cause) {
    const { message } = cause as Error;
    throw new Error(
      `--tls-cert ${cert} and --tls-key ${key} are not a certificate and its private key in PEM: ${message}.`,
      { cause },
    );
  }
  return certificate;
};

export class CertificateFiles implements Disposable {
  readonly #paths: CertificatePaths;
  readonly #logger: Logger;
  readonly #onChange: StatsListener;
  #current: Certificate;

  /** @throws an `Error` that names the file if the pair cannot be used */
  constructor(paths: CertificatePaths, logger: Logger, checkMs = CHECK_MS) {
    this.#paths = paths;
    this.#logger = logger;
    this.#current = readCertificateFiles(paths);
    this.#onChange = () => this.#reload();
    for (const path of [paths.cert, paths.key])
      watchFile(path, { interval: checkMs, persistent: false }, this.#onChange);
  }

  get current(): Certificate {
    return this.#current;
  }

  /** Keeps the current pair if the new one is broken, for example because only one file has been replaced so far. */
  #reload(): void {
    try {
      this.#current = readCertificateFiles(this.#paths);
      this.#logger.info("loaded the changed certificate", { file: this.#paths.cert });
    } catch (cause) {
      this.#logger.warn("the changed certificate cannot be used; the previous one stays", { cause });
    }
  }

  [Symbol.dispose](): void {
    for (const path of [this.#paths.cert, this.#paths.key]) unwatchFile(path, this.#onChange);
  }
}
