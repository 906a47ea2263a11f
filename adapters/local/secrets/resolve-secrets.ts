/** Decrypts secrets for the environment of an instance, and private keys for the listeners. */
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import type { ServiceTemplate } from "../../../core/domain/deploy/service-template.ts";
import type { Logger } from "../../../core/ports/system.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { DataFolderError } from "../data-folder/data-folder-error.ts";
import type { SecretRows } from "../state/secrets.ts";
import type { PrivateKeyId, SecretCipher } from "./secret-cipher.ts";

/** By default, Linux permits 2 MiB for arguments and environment together: a quarter of the stack limit. */
const MAX_BYTES = 1024 * 1024;

/** Values by the name of their variable. */
export type SecretValues = Readonly<Record<string, string>>;

const unavailable = (message: string): DeployFailure => ({ reason: "secret_unavailable", message });

const NO_KEY =
  "The server cannot read the secrets key. The operator of the server must restore the key file that the server's log names. Then deploy again.";

export interface SecretResolverDeps {
  readonly rows: Pick<SecretRows, "sealed">;
  /** Returns the setting `KEY_CHECK`. */
  readonly check: () => string | undefined;
  /** Reads the key that matches the check. Throws a `DataFolderError` if the key is missing or wrong. */
  readonly load: (check: string | undefined) => SecretCipher;
  readonly logger: Logger;
}

export class SecretResolver {
  readonly #deps: SecretResolverDeps;
  #cipher: SecretCipher | undefined;

  constructor(deps: SecretResolverDeps) {
    this.#deps = deps;
  }

  /**
   * Returns the values of the versions that the template pins. Fails if the key cannot be read, if a version is
   * missing or damaged, or if the values are too large.
   */
  resolve({ owner, secrets }: Pick<ServiceTemplate, "owner" | "secrets">): Result<SecretValues, DeployFailure> {
    if (secrets === undefined) return ok({});
    const cipher = this.#currentCipher();
    if (cipher === undefined) return err(unavailable(NO_KEY));
    const values: [string, string][] = [];
    for (const [variable, { name, version }] of Object.entries(secrets)) {
      const sealed = this.#deps.rows.sealed(owner, name, version);
      const which = `Version ${version} of the secret '${name}'`;
      if (sealed === undefined) return err(unavailable(`${which} does not exist. Set the secret, then deploy again.`));
      const value = cipher.open({ owner, name, version }, sealed);
      if (value === undefined)
        return err(unavailable(`${which} cannot be decrypted. Set a new value, then deploy again.`));
      values.push([variable, value]);
    }
    const bytes = values.reduce((sum, [variable, value]) => sum + variable.length + Buffer.byteLength(value), 0);
    const tooLarge = `The variables that refer to secrets total ${bytes} bytes; the limit is ${MAX_BYTES}. Use fewer or smaller secrets.`;
    return bytes > MAX_BYTES ? err(unavailable(tooLarge)) : ok(Object.fromEntries(values));
  }

  /** Decrypts the private key of a certificate. Returns undefined if that fails. */
  openPrivateKey(id: PrivateKeyId, sealed: Uint8Array): string | undefined {
    return this.#currentCipher()?.openPrivateKey(id, sealed);
  }

  /** Returns the cipher of the stored secrets. A server may have replaced the key while no secrets were stored. */
  #currentCipher(): SecretCipher | undefined {
    const check = this.#deps.check();
    if (check !== undefined && this.#cipher?.matches(check) === true) return this.#cipher;
    try {
      this.#cipher = this.#deps.load(check);
      return this.#cipher;
    } catch (cause) {
      if (!(cause instanceof DataFolderError)) throw cause;
      this.#deps.logger.error("could not read the secrets key", { keyFile: cause.path, cause });
      return undefined;
    }
  }
}
