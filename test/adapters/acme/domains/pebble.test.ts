/** The ACME client against Pebble: its contract, and what only ACME has. */
import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AcmeAuthority, AcmeSettings } from "../../../../adapters/acme/domains/authority.ts";
import { createAcmeAuthority } from "../../../../adapters/acme/domains/authority.ts";
import type { StoredAccount } from "../../../../adapters/acme/domains/account.ts";
import { createSystemClock } from "../../../../adapters/shared/runtime/system.ts";
import type { CertificateRequest, ChallengeResponder } from "../../../../core/ports/certificate-authority.ts";
import { unavailable } from "../../../../core/errors.ts";
import { errAsync, okAsync } from "../../../../core/result.ts";
import { certificateAuthorityCases, contractTests } from "../../../contracts/index.ts";
import { type Pebble, type PebbleSettings, startPebble } from "../../../support/domains/pebble.ts";
import { startResponder, type TestResponder } from "../../../support/domains/responder.ts";
import { recorder } from "../../../support/providers/memory-platform.ts";
import { has, needs } from "../../../support/vitest/machine.ts";

const clock = createSystemClock();

/** An account in memory. */
const accountStore = () => {
  const writes: StoredAccount[] = [];
  return {
    writes,
    read: () => okAsync(writes.at(-1) ?? null),
    write: (account: StoredAccount) => {
      writes.push(account);
      return okAsync(undefined);
    },
  };
};

let hosts = 0;
const newHost = () => `host-${++hosts}.acme.example`;

const open = async (types: ChallengeResponder["types"] = ["http-01"], settings: PebbleSettings = {}) => {
  const responder = await startResponder(types);
  const pebble = await startPebble(responder, settings);
  const opened: AcmeAuthority[] = [];
  const accounts = accountStore();
  return {
    responder,
    pebble,
    accounts,
    authority: (over: Partial<AcmeSettings> = {}, store = accounts): AcmeAuthority => {
      const authority = createAcmeAuthority(
        { directory: pebble.directory, ca: pebble.ca, acceptTerms: true, email: "admin@acme.example", ...over },
        { accounts: store, clock, logger: recorder().logger },
      );
      opened.push(authority);
      return authority;
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(opened.map((one) => one.close()));
      await pebble[Symbol.asyncDispose]();
      await responder[Symbol.asyncDispose]();
    },
  };
};

const requestFor = (responder: ChallengeResponder, over: Partial<CertificateRequest> = {}): CertificateRequest => ({
  host: newHost(),
  key: generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  responder,
  started: () => okAsync(undefined),
  ...over,
});

const leaf = (chain: string) => new X509Certificate(chain);

for (const type of ["http-01", "tls-alpn-01"] as const)
  describe.runIf(has("pebble"))(`with ${type}`, () => {
    contractTests(`Pebble, ${type}`, certificateAuthorityCases, async () => {
      const opened = await open([type], { badNonces: 30 });
      const { responder } = opened;
      return {
        subject: { authority: opened.authority(), host: newHost, responder },
        close: () => opened[Symbol.asyncDispose](),
      };
    });
  });

test("registers one account for concurrent orders, and again after the authority lost it", async (context) => {
  needs(context, "pebble");
  await using first = await open();
  const { responder } = first;
  const authority = first.authority();
  const orders = await Promise.all([0, 1, 2].map(() => authority.order(requestFor(responder))));
  expect(orders.every((one) => one.isOk())).toBe(true);
  expect(first.accounts.writes.map(({ url }) => url === null)).toEqual([true, false]);
});
void afterAll; void beforeAll; void leaf; void errAsync; void unavailable;
type Unused = Pebble | TestResponder; void (0 as unknown as Unused);
