/** `portside domain rekey` on a data folder with an account at Pebble. */

import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import type { StoredAccount } from "../../../../adapters/acme/domains/account.ts";
import type { AcmeAuthority } from "../../../../adapters/acme/domains/authority.ts";
import { createAuthorities } from "../../../../adapters/local/domains/authorities.ts";
import { domainSettings } from "../../../../adapters/local/domains/settings.ts";
import { createLocalProvider } from "../../../../adapters/local/index.ts";
import { prepareKey } from "../../../../adapters/local/secrets/key-file.ts";
import { CertificateRows } from "../../../../adapters/local/state/certificates.ts";
import { openState } from "../../../../adapters/local/state/database.ts";
import { newPrivateKey } from "../../../../adapters/shared/domains/x509.ts";
import { createSystemClock } from "../../../../adapters/shared/runtime/system.ts";
import { okAsync } from "../../../../core/result.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { portside } from "../../../support/cli/terminal.ts";
import { startPebble } from "../../../support/domains/pebble.ts";
import { startResponder } from "../../../support/domains/responder.ts";
import { recorder } from "../../../support/providers/memory-platform.ts";
import { needs } from "../../../support/vitest/machine.ts";

test("replaces the key of each account, and discards an account whose key the authority rejects", async (context) => {
  needs(context, "pebble");
  await using responder = await startResponder(["http-01"]);
  await using pebble = await startPebble(responder);
  using folder = folderWith({ "ca.pem": pebble.ca });
  const [data, acmeCa] = [join(folder.path, "data"), join(folder.path, "ca.pem")];
  const { directory } = pebble;
  const run = (...args: readonly string[]) =>
    portside(["domain", "rekey", "--data-dir", data, "--acme-ca", acmeCa, ...args]);

  const server = await createLocalProvider({ dataDir: data, ingressPort: 0, runner: "process" });
  expect(await run()).toMatchObject({ code: 1, stderr: expect.stringContaining("Another Portside server uses") });
  await server.close();
  expect(await run()).toMatchObject({ code: 0, stderr: expect.stringContaining("has no accounts") });

  /** Opens the account as the server does. */
  const withAccount = async <T>(
    work: (account: { authority: AcmeAuthority; read(): StoredAccount; write(keys: object): void }) => Promise<T>,
  ): Promise<T> => {
    using db = openState(data);
    const [rows, cipher] = [new CertificateRows(db), prepareKey(db, data, undefined)];
    const id = { kind: "authority", name: directory } as const;
    const settings = z
      .object(domainSettings)
      .parse({ acmeEmail: "ops@acme.example", acmeDirectory: [directory], acmeCa });
    const deps = { rows, cipher, clock: createSystemClock(), logger: recorder().logger };
    const [authority] = createAuthorities(settings, deps) as [AcmeAuthority];
    const row = () => rows.account(directory) as NonNullable<ReturnType<typeof rows.account>>;
    try {
      return await work({
        authority,
        read: () => ({ ...JSON.parse(cipher.openPrivateKey(id, row().key) as string), url: row().url }),
        write: (keys) => rows.putAccount({ ...row(), key: cipher.sealPrivateKey(id, JSON.stringify(keys)) }),
      });
    } finally {
      await authority.close();
    }
  };
  let hosts = 0;
  const order = (authority: AcmeAuthority) =>
    authority.order({
      host: `host-${++hosts}.acme.example` as never,
      key: newPrivateKey(),
      responder,
      started: () => okAsync(undefined),
    });
  const before = await withAccount(async ({ authority, read }) => {
    (await order(authority))._unsafeUnwrap();
    return read();
  });

  expect(await run()).toEqual({
    code: 0,
    stdout: `Replaced the key of the account at ${directory}.\n`,
    stderr: "",
  });
  const after = await withAccount(async ({ authority, read, write }) => {
    const replaced = read();
    expect(replaced).toEqual({ ...before, key: expect.any(String) });
    expect(replaced.key).not.toBe(before.key);
    // A kill after the authority has accepted the new key.
    write({ ...before, nextKey: replaced.key });
    (await order(authority))._unsafeUnwrap();
    expect(read()).toEqual(replaced);
    // A restored backup.
    write(before);
    return replaced;
  });

  expect(await run()).toMatchObject({ code: 1, stdout: expect.stringContaining("was not replaced. ") });
  const discard = ["--discard", "--json"];
  expect(await run(...discard)).toMatchObject({ code: 2, stderr: expect.stringContaining("Confirm with -y.") });
  const discarded = await run(...discard, "-y");
  expect([discarded.code, JSON.parse(discarded.stdout)]).toEqual([0, [{ directory, problem: null }]]);
  await withAccount(async ({ authority, read }) => {
    (await order(authority))._unsafeUnwrap();
    expect(read().url).not.toBe(after.url);
  });
});
