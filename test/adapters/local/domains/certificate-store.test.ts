/** The contract of the local certificate store, on a state file that the listeners also read. */
import { expect, test } from "vitest";
import { LocalCertificates } from "../../../../adapters/local/domains/certificate-store.ts";
import { SecretCipher } from "../../../../adapters/local/secrets/secret-cipher.ts";
import { CertificateRows } from "../../../../adapters/local/state/certificates.ts";
import { openState } from "../../../../adapters/local/state/database.ts";
import { DomainRows } from "../../../../adapters/local/state/domains.ts";
import { ServiceRows } from "../../../../adapters/local/state/services.ts";
import { StoredState } from "../../../../adapters/local/state/stored-state.ts";
import { ServedHosts } from "../../../../adapters/local/tls/served-hosts.ts";
import { createSystemClock } from "../../../../adapters/shared/runtime/system.ts";
import { newDomain } from "../../../../core/domain/domains/domain.ts";
import type { DomainName } from "../../../../core/domain/domains/domain-name.ts";
import {
  type CertificateStoreSubject,
  certificateStoreCases,
  contractTests,
  freshNames,
} from "../../../contracts/index.ts";
import { expectOk, testOrigin } from "../../../contracts/support.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { signForSuite } from "../../../support/domains/memory-certificates.ts";
import { day, templateOf } from "../state/model.ts";

const BELOW = "apps.example.net";

/** @param isOwn whether the hosts are custom domains, or hosts below the platform's domain */
const start = async (isOwn: boolean) => {
  const folder = folderWith();
  const cipher = new SecretCipher(Buffer.alloc(32, 7));
  const names = freshNames("certificates");
  const open = () => {
    const db = openState(folder.path);
    const stored = new StoredState(folder.path);
    const [rows, domains] = [new CertificateRows(db), new DomainRows(db)];
    const services = new ServiceRows(db, () => crypto.randomUUID());
    const hosts = new ServedHosts({
      openKey: (host, sealed) => cipher.openPrivateKey({ kind: "host", name: host }, sealed),
      fallback: () => undefined,
      clock: createSystemClock(),
    });
    const engine = {
      apply: async () => {
        hosts.apply(stored.hosts());
        return { ports: {} };
      },
    };
    const store = new LocalCertificates({
      rows,
      domains,
      services,
      engine,
      cipher,
      hostsBelow: BELOW,
      servesApi: true,
      challengeTypes: ["http-01"],
    });
    const close = () => {
      stored[Symbol.dispose]();
      db.close();
    };
    return { store, hosts, domains, services, close };
  };
  let opened = open();
  const subject: CertificateStoreSubject = {
    get store() {
      return opened.store;
    },
    account: names.account,
    addHost: async (account) => {
      const name = names.name();
      const { domains, services } = opened;
      const { revision } = services.begin(templateOf(name, account, "d1"), "absent", day(1)) as {
        revision: { id: string };
      };
      services.commit(name, revision.id, day(1), testOrigin);
      if (!isOwn) return { host: `${name}.${BELOW}` as DomainName, account, isOwn };
      const domain = `${name}.example.com` as DomainName;
      domains.put({ ...newDomain(domain, account, name, day(1)), status: "active" }, "1");
      return { host: domain, account, isOwn };
    },
    removeHost: async ({ host, account }) => {
      const name = host.slice(0, host.indexOf(".")) as ReturnType<typeof names.name>;
      if (isOwn) opened.domains.remove(host);
      else opened.services.remove(name, account, day(9));
    },
    sign: signForSuite,
    presented: (host) => {
      const found = opened.hosts.find(host);
      return found === undefined ? null : { chain: found.chain, key: found.key() };
    },
    reopen: async () => {
      opened.close();
      opened = open();
    },
  };
  return {
    subject,
    close: async () => {
      opened.close();
      folder[Symbol.dispose]();
    },
  };
};

contractTests("local certificates of custom domains", certificateStoreCases, () => start(true));
contractTests("local certificates of hosts below the platform's domain", certificateStoreCases, () => start(false));

test("the platform's own hosts belong to the platform's account", async () => {
  const { subject, close } = await start(false);
  const hosts = await expectOk(subject.store.hosts());
  expect(hosts.map(({ host }) => host)).toEqual([`storage.${BELOW}`, BELOW]);
  for (const { host, account } of hosts) expect(await expectOk(subject.store.accountOf(host))).toBe(account);
  await close();
});
