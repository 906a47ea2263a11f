/** The contract suite of certificate authorities rejects broken ones. */
import { generateKeyPairSync } from "node:crypto";
import type { CertificateAuthority, CertificateRequest } from "../../core/ports/certificate-authority.ts";
import { okAsync } from "../../core/result.ts";
import { type AuthoritySubject, certificateAuthorityCases } from "../contracts/index.ts";
import { simulatedAuthority } from "../support/domains/simulated-host.ts";
import { type Mutants, mutantTests } from "../support/vitest/mutants.ts";

const broken = (change: (authority: CertificateAuthority) => Partial<CertificateAuthority>) => (): AuthoritySubject => {
  const subject = simulatedAuthority();
  const { authority } = subject;
  return {
    ...subject,
    authority: { name: authority.name, order: authority.order, advice: authority.advice, ...change(authority) },
  };
};

/** An authority that receives changed requests. */
const asked = (change: (request: CertificateRequest) => CertificateRequest) =>
  broken(({ order }) => ({ order: (request, options) => order(change(request), options) }));

const otherKey = generateKeyPairSync("ec", { namedCurve: "P-256" })
  .privateKey.export({ type: "pkcs8", format: "pem" })
  .toString();

const mutants: Mutants<AuthoritySubject> = {
  certificates: {
    "authority that signs a different key": asked((request) => ({ ...request, key: otherKey })),
    "authority that returns the certificate of another host": broken(({ order }) => {
      const first = new Map<string, ReturnType<CertificateAuthority["order"]>>();
      return {
        order: (request, options) => {
          const own = order(request, options);
          const kept = first.get("chain") ?? own;
          first.set("chain", kept);
          return own.andThen(() => kept);
        },
      };
    }),
    "authority that returns an earlier certificate": broken(({ order }) => {
      const chains = new Map<string, string>();
      return {
        order: (request, options) => {
          const known = chains.get(request.host);
          return known === undefined
            ? order(request, options).map((chain) => {
                chains.set(request.host, chain);
                return chain;
              })
            : okAsync(known);
        },
      };
    }),
  },
  challenges: {
    "authority that withdraws nothing": asked((request) => ({
      ...request,
      responder: { ...request.responder, withdraw: () => okAsync(undefined) },
    })),
    "authority that does not validate": broken(({ order }) => ({
      order: (request, options) => order(request, options).orElse(() => okAsync("a certificate")),
    })),
    "authority that stores no order": asked((request) => ({ ...request, started: () => okAsync(undefined) })),
  },
  "stored orders": {
    "authority that ignores a failed write": asked((request) => ({
      ...request,
      started: (order) => request.started(order).orElse(() => okAsync(undefined)),
    })),
    "authority that accepts only new orders": broken(({ order }) => ({
      order: (request, options) =>
        order(request, options).andThen((chain) => okAsync(request.order === undefined ? chain : "")),
    })),
  },
  advice: broken(({ advice }) => ({
    advice: (certificate, options) =>
      advice(certificate, options).map(
        (found) => found && { ...found, window: { start: found.window.end, end: found.window.start } },
      ),
  })),
};

mutantTests("certificate authorities", certificateAuthorityCases, mutants);
