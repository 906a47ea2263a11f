/** A host that answers the challenges of an authority, on its own ports. */
import { once } from "node:events";
import { createServer as createHttpServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createSecureContext, createServer as createTlsServer } from "node:tls";
import {
  CHALLENGE_PROTOCOL,
  createChallengeCertificate,
} from "../../../adapters/shared/domains/challenge-certificate.ts";
import { createSystemClock } from "../../../adapters/shared/runtime/system.ts";
import type { Challenge, ChallengeResponder } from "../../../core/ports/certificate-authority.ts";
import { okAsync } from "../../../core/result.ts";

export interface TestResponder extends ChallengeResponder, AsyncDisposable {
  readonly httpPort: number;
  readonly tlsPort: number;
}

const PATH = "/.well-known/acme-challenge/";

export const startResponder = async (types: ChallengeResponder["types"]): Promise<TestResponder> => {
  const published = new Map<string, Challenge>();
  const http: HttpServer = createHttpServer((req, res) => {
    const challenge = published.get(`http-01 ${req.headers.host?.split(":")[0]} ${req.url?.slice(PATH.length)}`);
    res.statusCode = challenge === undefined ? 404 : 200;
    res.end(challenge?.keyAuthorization);
  });
  const tls = createTlsServer({
    ALPNProtocols: [CHALLENGE_PROTOCOL],
    SNICallback: (host, done) => {
      const challenge = [...published.values()].find((one) => one.type === "tls-alpn-01" && one.host === host);
      if (challenge === undefined) return done(new Error("unknown host"));
      const { certificate, key } = createChallengeCertificate(
        host,
        challenge.keyAuthorization,
        createSystemClock().now(),
      );
      return done(null, createSecureContext({ cert: certificate, key }));
    },
  });
  tls.on("tlsClientError", () => undefined);
  tls.on("secureConnection", (socket) => socket.on("error", () => undefined).end());
  const ports = [];
  for (const server of [http, tls]) {
    await once(server.listen(0, "127.0.0.1"), "listening");
    ports.push((server.address() as AddressInfo).port);
  }
  const [httpPort, tlsPort] = ports as [number, number];
  const keyOf = ({ type, host, token }: Challenge) => `${type} ${host} ${token}`;
  return {
    types,
    httpPort,
    tlsPort,
    publish: (challenge) => {
      published.set(keyOf(challenge), challenge);
      return okAsync(undefined);
    },
    withdraw: (challenge) => {
      published.delete(keyOf(challenge));
      return okAsync(undefined);
    },
    [Symbol.asyncDispose]: async () => {
      http.closeAllConnections();
      await Promise.all([http, tls].map((server) => new Promise((resolve) => server.close(resolve))));
    },
  };
};
