/** The certificate authorities that the settings name. The state stores the accounts there, with encrypted keys. */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { MAX_AUTHORITY_DELAY_MS } from "../../../core/domain/domains/renewal.ts";
import type { Clock, Logger } from "../../../core/ports/system.ts";
import type { AccountStore, StoredAccount } from "../../acme/domains/account.ts";
import { type AcmeAuthority, type AcmeSettings, createAcmeAuthority } from "../../acme/domains/authority.ts";
import { authorityName } from "../../acme/domains/authority-name.ts";
import type { SecretCipher } from "../secrets/secret-cipher.ts";
import type { CertificateRows } from "../state/certificates.ts";
import { guardState } from "../state/database.ts";
import type { DomainSettings } from "./settings.ts";

interface AccountDeps {
  readonly rows: CertificateRows;
  readonly cipher: SecretCipher;
}

type Sealed = Omit<StoredAccount, "url">;

const accountsAt = (directory: string, { rows, cipher }: AccountDeps): AccountStore => {
  const id = { kind: "authority", name: directory } as const;
  return {
    read: () =>
      guardState(() => {
        const row = rows.account(directory);
        const keys = row === undefined ? undefined : cipher.openPrivateKey(id, row.key);
        return row === undefined || keys === undefined ? null : { ...(JSON.parse(keys) as Sealed), url: row.url };
      }),
    write: ({ url, ...account }) =>
      guardState(() => {
        const sealed: Sealed = account;
        rows.putAccount({ directory, key: cipher.sealPrivateKey(id, JSON.stringify(sealed)), url });
      }),
  };
};

const readSetting = (path: string, flag: string): string => {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new Error(`The file ${path} cannot be read: ${(cause as Error).message}. Correct ${flag}.`, { cause });
  }
};

/** TLS ignores a file without certificates, so each call to the authority would fail. */
const readAuthorityCertificates = (path: string): string => {
  const ca = readSetting(path, "--acme-ca");
  try {
    new X509Certificate(ca);
  } catch (cause) {
    throw new Error(`The file ${path} contains no certificate in PEM. Correct --acme-ca.`, { cause });
  }
  return ca;
};

/** Decoding ignores invalid characters, so the authority would reject the signature of the key. */
const readExternalAccountKey = (path: string): string => {
  const key = readSetting(path, "--acme-eab-key-file").trim();
  if (!/^[\w+/-]+=*$/.test(key))
    throw new Error(`The file ${path} must contain only the key, as base64url. Correct --acme-eab-key-file.`);
  return key;
};

const externalAccountOf = ({ acmeEabKid, acmeEabKeyFile }: DomainSettings): AcmeSettings["externalAccount"] => {
  if (acmeEabKid === undefined && acmeEabKeyFile === undefined) return undefined;
  if (acmeEabKid === undefined || acmeEabKeyFile === undefined)
    throw new Error("--acme-eab-kid and --acme-eab-key-file require each other. Set both or neither.");
  return { keyId: acmeEabKid, hmacKey: readExternalAccountKey(acmeEabKeyFile) };
};

/**
 * Replaces the names that earlier versions stored: they named each authority after the host of its directory. Of several
 * directories on a host, the first one gets its certificates and orders.
 */
export const nameAuthorities = (directories: readonly string[], rows: CertificateRows): void => {
  const known = [...directories, ...rows.accounts().map(({ directory }) => directory)].map(authorityName);
  for (const directory of directories) {
    const { host } = new URL(directory);
    if (!known.includes(host)) rows.renameAuthority(host, authorityName(directory));
  }
};

/**
 * Throws an `Error` if a file of the settings cannot be used, or if only one of the two settings of an external account
 * is set. The caller must close the authorities.
 */
export const createAuthorities = (
  settings: DomainSettings,
  { clock, logger, ...deps }: AccountDeps & { readonly clock: Clock; readonly logger: Logger },
): readonly AcmeAuthority[] => {
  const { acmeEmail, acmeDirectory, acmeCa, acmeProfile } = settings;
  const ca = acmeCa === undefined ? undefined : readAuthorityCertificates(acmeCa);
  const externalAccount = externalAccountOf(settings);
  const isRepeated = (directory: string, index: number) =>
    acmeDirectory.findIndex((one) => authorityName(one) === authorityName(directory)) < index;
  const directories = acmeDirectory.filter((directory, index) => !isRepeated(directory, index));
  return directories.map((directory) =>
    createAcmeAuthority(
      { directory, ca, profile: acmeProfile, acceptTerms: true, email: acmeEmail, externalAccount },
      { accounts: accountsAt(directory, deps), clock, logger },
    ),
  );
};

/** The minimum pause after an authority did not respond, in milliseconds. */
const UPDATE_RETRY_MS = 60 * 60_000;

/**
 * Sends a changed `--acme-email` to the authorities. Retries while an authority is not available or limits the requests.
 * If an authority refuses the address, the next start tries again. Resolves when no retry remains, or after the signal
 * aborts.
 */
export const updateEmails = async (
  authorities: readonly Pick<AcmeAuthority, "name" | "updateEmail">[],
  { clock, logger, signal }: { readonly clock: Clock; readonly logger: Logger; readonly signal: AbortSignal },
): Promise<void> => {
  const update = async ({ name, updateEmail }: (typeof authorities)[number]): Promise<void> => {
    while (!signal.aborted) {
      const updated = await updateEmail({ signal });
      if (updated.isOk() || signal.aborted) return;
      const { error } = updated;
      logger.warn("could not change the e-mail address at a certificate authority", {
        authority: name,
        reason: error.message,
      });
      const delayMs = error.kind === "unavailable" ? error.retryAfterSeconds * 1000 : error.retryAfterMs;
      if (delayMs === null) return;
      await clock.sleep(Math.min(Math.max(UPDATE_RETRY_MS, delayMs), MAX_AUTHORITY_DELAY_MS), signal);
    }
  };
  await Promise.all(authorities.map(update));
};
