/** Reads the values of secrets for the environment of an instance. */
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import type { ServiceTemplate } from "../../../core/domain/deploy/service-template.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import type { SecretRows } from "../state/secrets.ts";
import type { SecretCipher } from "./secret-cipher.ts";

/** Linux permits 2 MiB for arguments and environment together, unless the limit of the stack is low. */
const MAX_BYTES = 1024 * 1024;

/** Values by the name of their variable. */
export type SecretValues = Readonly<Record<string, string>>;

const unavailable = (message: string): DeployFailure => ({ reason: "secret_unavailable", message });

export class SecretResolver {
  readonly #rows: Pick<SecretRows, "sealed">;
  readonly #load: () => SecretCipher;
  #cipher: SecretCipher | undefined;

  /** @param load reads the key; called once, when an instance needs a secret */
  constructor(rows: Pick<SecretRows, "sealed">, load: () => SecretCipher) {
    this.#rows = rows;
    this.#load = load;
  }

  /**
   * Returns the values of the versions that the template pins, or a failure if a version does not exist or was damaged.
   */
  resolve({ owner, secrets }: Pick<ServiceTemplate, "owner" | "secrets">): Result<SecretValues, DeployFailure> {
    if (secrets === undefined) return ok({});
    this.#cipher ??= this.#load();
    const values: [string, string][] = [];
    for (const [variable, { name, version }] of Object.entries(secrets)) {
      const sealed = this.#rows.sealed(owner, name, version);
      const which = `Version ${version} of the secret '${name}'`;
      if (sealed === undefined) return err(unavailable(`${which} does not exist. Set the secret, then deploy again.`));
      const value = this.#cipher.open({ owner, name, version }, sealed);
      if (value === undefined)
        return err(unavailable(`${which} cannot be decrypted. Set another value, then deploy again.`));
      values.push([variable, value]);
    }
    const bytes = values.reduce((sum, [variable, value]) => sum + variable.length + Buffer.byteLength(value), 0);
    const tooLarge = `The variables that refer to secrets have ${bytes} bytes; at most ${MAX_BYTES} are possible. Refer to fewer or smaller secrets.`;
    return bytes > MAX_BYTES ? err(unavailable(tooLarge)) : ok(Object.fromEntries(values));
  }
}
