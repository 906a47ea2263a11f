/**
 * Encrypts the values of secrets and the private keys of certificates with AES-256-GCM. Authenticates the account, name
 * and version of a secret, and the host or authority of a private key, so one ciphertext cannot replace another. Each
 * purpose has its own key, derived with HKDF.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes, timingSafeEqual } from "node:crypto";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { SecretName } from "../../../core/domain/wire/names.ts";
import { secretDigest } from "../../shared/secrets/secret-digest.ts";

/** Identifies a version of a secret. */
export interface SecretId {
  readonly owner: AccountId;
  readonly name: SecretName;
  readonly version: number;
}

const ALGORITHM = "aes-256-gcm";
export const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

const derive = (key: Uint8Array, purpose: string): Buffer =>
  Buffer.from(hkdfSync("sha256", key, "portside secrets", purpose, KEY_BYTES));

const associated = ({ owner, name, version }: SecretId): Buffer => Buffer.from(JSON.stringify([owner, name, version]));

/** Identifies a private key: that of a host's certificate, or that of an account at an authority. */
export interface PrivateKeyId {
  readonly kind: "host" | "authority";
  /** The host, or the URL of the authority's directory. */
  readonly name: string;
}

const associatedKey = ({ kind, name }: PrivateKeyId): Buffer => Buffer.from(JSON.stringify([kind, name]));

const seal = (key: Buffer, associatedData: Buffer, value: string): Buffer => {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(associatedData);
  const text = Buffer.concat([cipher.update(value, "utf8"), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), text]);
};

const open = (key: Buffer, associatedData: Buffer, sealed: Uint8Array): string | undefined => {
  try {
    const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
    decipher.setAAD(associatedData);
    decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    const text = decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES));
    return Buffer.concat([text, decipher.final()]).toString("utf8");
  } catch {
    return undefined;
  }
};

export class SecretCipher {
  readonly #encryptionKey: Buffer;
  readonly #privateKeysKey: Buffer;
  readonly #digestKey: Buffer;
  /** Identifies the key, without revealing it. The state stores it, to detect a wrong key. */
  readonly check: string;

  /** @param key `KEY_BYTES` random bytes */
  constructor(key: Uint8Array) {
    this.#encryptionKey = derive(key, "encryption");
    this.#privateKeysKey = derive(key, "private keys");
    this.#digestKey = derive(key, "digests");
    this.check = derive(key, "check").toString("hex");
  }

  /** Returns whether this key has the given check value. */
  matches(check: string): boolean {
    const [own, other] = [Buffer.from(this.check), Buffer.from(check)];
    return own.length === other.length && timingSafeEqual(own, other);
  }

  digest({ owner, name }: Omit<SecretId, "version">, value: string): string {
    return secretDigest(this.#digestKey, owner, name, value);
  }

  /** Returns the nonce, the tag and the ciphertext. */
  seal(id: SecretId, value: string): Buffer {
    return seal(this.#encryptionKey, associated(id), value);
  }

  /** Returns the value, or undefined if this key did not seal the bytes for this version. */
  open(id: SecretId, sealed: Uint8Array): string | undefined {
    return open(this.#encryptionKey, associated(id), sealed);
  }

  /** @param id identifies the private key */
  sealPrivateKey(id: PrivateKeyId, pem: string): Buffer {
    return seal(this.#privateKeysKey, associatedKey(id), pem);
  }

  /** Returns the private key in PEM, or undefined if this key did not seal the bytes for this private key. */
  openPrivateKey(id: PrivateKeyId, sealed: Uint8Array): string | undefined {
    return open(this.#privateKeysKey, associatedKey(id), sealed);
  }
}
