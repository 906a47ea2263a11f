/** The contract suite of `CertificateAuthority`. */
import { generateKeyPairSync, type KeyObject, X509Certificate } from "node:crypto";
import { expect } from "vitest";
import { unavailable } from "../../core/errors.ts";
import type {
  CertificateAuthority,
  CertificateRequest,
  Challenge,
  ChallengeResponder,
} from "../../core/ports/certificate-authority.ts";
import { errAsync, okAsync } from "../../core/result.ts";
import type { ContractCase } from "./harness.ts";
import { expectError, expectOk } from "./support.ts";

/** A certificate authority under test. */
export interface AuthoritySubject {
  readonly authority: CertificateAuthority;
  /** Returns a host that no other case uses. The authority must reach `responder` at that host. */
  host(): string;
  /** Answers the challenges of the authority. */
  readonly responder: ChallengeResponder;
}

type Case = ContractCase<AuthoritySubject>;

const newKey = (): KeyObject => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;

/** Returns a request, and records the calls of its callbacks in order. */
const recorded = (subject: AuthoritySubject, over: Partial<CertificateRequest> = {}) => {
  const calls: string[] = [];
  const open = new Map<string, Challenge>();
  const published: Challenge[] = [];
  const orders: string[] = [];
  const key = newKey();
  const { responder = subject.responder, ...rest } = over;
  const request: CertificateRequest = {
    host: subject.host(),
    key: key.export({ type: "pkcs8", format: "pem" }).toString(),
    started: (order) => {
      calls.push("started");
      orders.push(order);
      return okAsync(undefined);
    },
    ...rest,
    responder: {
      types: responder.types,
      publish: (challenge) => {
        calls.push("publish");
        published.push(challenge);
        open.set(challenge.token, challenge);
        return responder.publish(challenge);
      },
      withdraw: (challenge) => {
        open.delete(challenge.token);
        return responder.withdraw(challenge);
      },
    },
  };
  return { request, key, calls, published, open, orders };
};

/**
 * Checks that a chain certifies the host and the key of the request, and that each certificate signs the previous one.
 */
const expectCertificate = (chain: string, host: string, key: KeyObject): X509Certificate => {
  const blocks = chain.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
  const certificates = blocks.map((block) => new X509Certificate(block));
  const [leaf] = certificates;
  if (leaf === undefined) throw new Error(`The chain has no certificate: ${chain}`);
  expect(leaf.checkHost(host, { subject: "never" })).toBe(host);
  expect(leaf.checkPrivateKey(key)).toBe(true);
  certificates.forEach((one, index) => {
    const issuer = certificates[index + 1];
    if (issuer !== undefined) expect(one.verify(issuer.publicKey)).toBe(true);
  });
  expect(leaf.validToDate.getTime()).toBeGreaterThan(leaf.validFromDate.getTime());
  return leaf;
};

const issue = async (subject: AuthoritySubject, over: Partial<CertificateRequest> = {}) => {
  const found = recorded(subject, over);
  const chain = await expectOk(subject.authority.order(found.request));
  return { ...found, chain, leaf: expectCertificate(chain, found.request.host, found.key) };
};

const expectFailure = async (
  result: ReturnType<CertificateAuthority["order"]>,
  kind: "order_failed" | "unavailable",
) => {
  const failure = await expectError(result);
  expect(failure.kind).toBe(kind);
  return failure;
};

const deaf = ({ responder: { types } }: AuthoritySubject): ChallengeResponder => ({
  types,
  publish: () => okAsync(undefined),
  withdraw: () => okAsync(undefined),
});

const broken = ({ responder: { types, withdraw } }: AuthoritySubject): ChallengeResponder => ({
  types,
  publish: () => errAsync(unavailable("The engine did not respond.")),
  withdraw,
});

const issuing: readonly Case[] = [
  {
    group: "certificates",
    name: "order returns a certificate for the host and the key",
    run: async (subject) => {
      await issue(subject);
    },
  },
  {
    group: "certificates",
    name: "concurrent orders each get their own certificate",
    run: async (subject) => {
      const all = await Promise.all(Array.from({ length: 5 }, () => issue(subject)));
      expect(new Set(all.map(({ leaf }) => leaf.serialNumber)).size).toBe(5);
    },
  },
  {
    group: "certificates",
    name: "a renewal returns a new certificate for a new key",
    run: async (subject) => {
      const first = await issue(subject);
      const second = await issue(subject, { host: first.request.host, replaces: first.chain });
      expect(second.leaf.serialNumber).not.toBe(first.leaf.serialNumber);
    },
  },
];

const validating: readonly Case[] = [
  {
    group: "challenges",
    name: "order stores the order, then publishes a challenge of a supported type, and withdraws it",
    run: async (subject) => {
      const [type] = subject.responder.types as [Challenge["type"]];
      const { request, calls, published, open } = await issue(subject, {
        responder: { ...subject.responder, types: [type] },
      });
      expect(calls).toEqual(["started", "publish"]);
      expect(published).toEqual([
        { type, host: request.host, token: expect.stringMatching(/^[\w-]+$/), keyAuthorization: expect.any(String) },
      ]);
      const [{ token, keyAuthorization }] = published as [Challenge];
      expect(keyAuthorization.startsWith(`${token}.`)).toBe(true);
      expect(open.size).toBe(0);
    },
  },
  {
    group: "challenges",
    name: "order fails with order_failed and the reason if the host does not answer, and withdraws the challenge",
    run: async (subject) => {
      const { request, open, calls } = recorded(subject, { responder: deaf(subject) });
      const failure = await expectFailure(subject.authority.order(request), "order_failed");
      expect(failure.message).not.toBe("");
      expect(calls).toContain("publish");
      expect(open.size).toBe(0);
    },
  },
  {
    group: "challenges",
    name: "order fails with unavailable if the responder does, and withdraws the challenge",
    run: async (subject) => {
      const { request, open } = recorded(subject, { responder: broken(subject) });
      await expectFailure(subject.authority.order(request), "unavailable");
      expect(open.size).toBe(0);
    },
  },
];

const continuing: readonly Case[] = [
  {
    group: "stored orders",
    name: "order publishes nothing if the order cannot be stored",
    run: async (subject) => {
      const { request, calls } = recorded(subject, { started: () => errAsync(unavailable("The disk is full.")) });
      await expectFailure(subject.authority.order(request), "unavailable");
      expect(calls).toEqual([]);
    },
  },
  {
    group: "stored orders",
    name: "order continues an interrupted order with the same key",
    run: async (subject) => {
      const { request, orders, key } = recorded(subject, { responder: broken(subject) });
      await expectFailure(subject.authority.order(request), "unavailable");
      const order = orders[0] as string;
      const again = { ...request, responder: subject.responder, order };
      expectCertificate(await expectOk(subject.authority.order(again)), request.host, key);
    },
  },
  {
    group: "stored orders",
    name: "order starts again if the stored order is unknown or failed",
    run: async (subject) => {
      const failed = recorded(subject, { responder: deaf(subject) });
      await expectFailure(subject.authority.order(failed.request), "order_failed");
      const order = failed.orders[0] as string;
      await issue(subject, { host: failed.request.host, order });
      await issue(subject, { order: `${order}0` });
      await issue(subject, { order: "not an order" });
    },
  },
];

const advising: readonly Case[] = [
  {
    group: "advice",
    name: "advice returns null or a window, and the time of the next request",
    run: async (subject) => {
      const { chain, leaf } = await issue(subject);
      const advice = await expectOk(subject.authority.advice(chain));
      if (advice === null) return;
      expect(advice.window.end).toBeGreaterThan(advice.window.start);
      const expiry = BigInt(leaf.validToDate.getTime()) * 1_000_000n;
      expect(advice.window.start).toBeLessThan(expiry);
      expect(advice.askAgainAt).toBeLessThan(expiry);
    },
  },
];

/** The cases of `CertificateAuthority`. */
export const certificateAuthorityCases: readonly Case[] = [...issuing, ...validating, ...continuing, ...advising];
