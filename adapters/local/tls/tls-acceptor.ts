/** Terminates TLS for the connections to one port. */
import type { Socket } from "node:net";
import { createServer, type Server, type TLSSocket, type TlsOptions } from "node:tls";
import type { Logger } from "../../../core/ports/system.ts";
import { CHALLENGE_PROTOCOL } from "../../shared/domains/challenge-certificate.ts";
import { type Certificate, type CertificateSource, Certificates, handshakeSettings, hostOf } from "./certificates.ts";
import { type ClientHello, readClientHello } from "./client-hello.ts";
import type { ConnectionLimiter } from "./connection-limiter.ts";

const HANDSHAKE_MS = 10_000;

/**
 * How long a server encrypts session tickets with the same key, which OpenSSL creates for each server. The key can
 * decrypt recorded sessions of TLS 1.2, so it must not live as long as the process. A client with a ticket of an
 * earlier key, or of another engine, makes a full handshake.
 */
const TICKET_KEY_MS = 12 * 3_600_000;

/** Fatal alerts: https://www.rfc-editor.org/rfc/rfc8446#section-6.2 */
const DECODE_ERROR = 50;
const UNRECOGNIZED_NAME = 112;

/** Rejects a connection before its handshake. Closes it even if the client keeps its end open, to free its memory. */
const sendAlert = (socket: Socket, description: number): void => {
  socket.write(Buffer.from([21, 3, 3, 0, 2, 2, description]), () => socket.destroy());
};

const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

export interface TlsAcceptorDeps {
  readonly certificates: CertificateSource;
  /** Returns the certificate that answers the validation of a host, or undefined if no validation is pending. */
  readonly challengeOf: (host: string) => Certificate | undefined;
  readonly connections: Pick<ConnectionLimiter, "admit">;
  /** Returns true if a service has the host. */
  readonly hasService: (host: string) => boolean;
  /** Returns true if the service of the host speaks HTTP/2. */
  readonly speaksHttp2: (host: string) => boolean;
  readonly logger: Logger;
}

/** Creates a server that never listens: it receives connections whose first message has selected its certificate. */
const createTlsServer = ({ chain, key }: Certificate, protocols: Pick<TlsOptions, "ALPNCallback" | "ALPNProtocols">) =>
  createServer({
    ...handshakeSettings,
    ...protocols,
    cert: chain,
    key: key(),
    handshakeTimeout: HANDSHAKE_MS,
  }).on("tlsClientError", (_error, socket) => socket.destroy());

export class TlsAcceptor {
  readonly #deps: TlsAcceptorDeps;
  readonly #certificates: Certificates;
  readonly #ready: (socket: TLSSocket) => void;
  readonly #rotation: NodeJS.Timeout;
  /** Ends the handshakes in the limiter, by the clients' addresses and ports. */
  readonly #handshakes = new Map<string, () => void>();

  /** @param ready receives each connection after its handshake */
  constructor(deps: TlsAcceptorDeps, ready: (socket: TLSSocket) => void) {
    this.#deps = deps;
    this.#ready = ready;
    this.#certificates = new Certificates({
      source: deps.certificates,
      logger: deps.logger,
      createServer: (certificate) => this.#createServer(certificate),
    });
    this.#rotation = setInterval(() => this.#certificates.clear(), TICKET_KEY_MS).unref();
  }

  /** Returns true if a usable certificate contains the host. It may have expired. */
  covers(host: string): boolean {
    return this.#certificates.covers(host);
  }

  /**
   * Begins the handshake of a new connection. A client must send its first message, or close, within the time limit. If
   * the client has opened too many connections, resets this one, because a reset costs least.
   */
  accept(socket: Socket): void {
    const end = this.#deps.connections.admit(socket.remoteAddress ?? "");
    if (end === undefined) return void socket.resetAndDestroy();
    const peer = peerOf(socket);
    this.#handshakes.set(peer, end);
    socket.once("close", () => {
      this.#handshakes.delete(peer);
      end();
    });
    const timer = setTimeout(() => socket.destroy(), HANDSHAKE_MS);
    socket.once("close", () => clearTimeout(timer));
    socket.on("error", () => socket.destroy());
    let head: Buffer | undefined;
    const onReadable = () => {
      const more = socket.read() as Buffer | null;
      if (more === null) return;
      head = head === undefined ? more : Buffer.concat([head, more]);
      const hello = readClientHello(head);
      if (hello === "incomplete") return;
      socket.off("readable", onReadable);
      if (hello === "malformed") return sendAlert(socket, DECODE_ERROR);
      const server = this.#serverFor(hello);
      if (server === undefined) return sendAlert(socket, UNRECOGNIZED_NAME);
      clearTimeout(timer);
      socket.unshift(head);
      server.emit("connection", socket);
    };
    socket.on("readable", onReadable);
  }

  /** Returns undefined if there is no certificate for the client. */
  #serverFor({ serverName, protocols }: ClientHello): Server | undefined {
    const host = serverName === undefined ? undefined : hostOf(serverName);
    if (protocols.includes(CHALLENGE_PROTOCOL)) return host === undefined ? undefined : this.#challengeServer(host);
    const server = this.#certificates.find(serverName);
    if (server !== undefined || host === undefined) return server;
    // A service whose certificate does not exist yet gets the fallback, so that its users see a certificate error. An
    // invented host name gets no certificate, because a handshake for it would only use CPU.
    return this.#deps.hasService(host) ? this.#certificates.find(undefined) : undefined;
  }

  #createServer(certificate: Certificate): Server {
    const { speaksHttp2 } = this.#deps;
    const server = createTlsServer(certificate, {
      ALPNCallback: ({ servername, protocols }) => {
        // Node passes false if the client sends no host name.
        if (protocols.includes("h2") && speaksHttp2(servername || "")) return "h2";
        return protocols.includes("http/1.1") ? "http/1.1" : undefined;
      },
    });
    return server.on("secureConnection", (socket) => {
      this.#handshakes.get(peerOf(socket))?.();
      this.#ready(socket);
    });
  }

  #challengeServer(host: string): Server | undefined {
    const challenge = this.#deps.challengeOf(host);
    if (challenge === undefined) return undefined;
    // The authority has seen the certificate: https://www.rfc-editor.org/rfc/rfc8737#section-3
    return createTlsServer(challenge, { ALPNProtocols: [CHALLENGE_PROTOCOL] }).on("secureConnection", (socket) =>
      socket.destroySoon(),
    );
  }

  /** Stops the rotation of keys. Open connections continue. */
  close(): void {
    clearInterval(this.#rotation);
  }
}
