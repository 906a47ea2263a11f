/** Terminates TLS for the connections to one port. */
import { randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import { createServer, type SecureContext, type Server, type TLSSocket } from "node:tls";
import { CHALLENGE_PROTOCOL } from "../../shared/domains/challenge-certificate.ts";
import { type Certificate, type Certificates, contextOf, handshakeSettings, hostOf } from "./certificates.ts";
import { type ClientHello, readClientHello } from "./client-hello.ts";
import type { ConnectionLimiter } from "./connection-limiter.ts";

const HANDSHAKE_MS = 10_000;

/** The size of the keys for session tickets in Node: https://nodejs.org/api/tls.html#serversetticketkeyskeys */
const TICKET_KEY_BYTES = 48;

/**
 * How long one key encrypts session tickets. The key can decrypt recorded sessions of TLS 1.2, so it must not live as
 * long as the process. A client with a ticket of an earlier key, or of another engine, makes a full handshake.
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
  readonly certificates: Pick<Certificates, "find" | "fallback">;
  /** Returns the certificate that answers the validation of a host, or undefined if no validation is pending. */
  readonly challengeOf: (host: string) => Certificate | undefined;
  readonly connections: Pick<ConnectionLimiter, "admit">;
  /** Returns true if a service has the host. */
  readonly hasService: (host: string) => boolean;
  /** Returns true if the service of the host speaks HTTP/2. */
  readonly speaksHttp2: (host: string) => boolean;
}

export class TlsAcceptor {
  readonly #deps: TlsAcceptorDeps;
  readonly #server: Server;
  readonly #challenges: Server;
  readonly #rotation: NodeJS.Timeout;
  #ticketKeys = randomBytes(TICKET_KEY_BYTES);
  /** The certificate for clients that send no host name. */
  #nameless: Certificate | undefined;
  /** Ends the handshakes in the limiter, by the clients' addresses and ports. */
  readonly #handshakes = new Map<string, () => void>();

  /** @param ready receives each connection after its handshake */
  constructor(deps: TlsAcceptorDeps, ready: (socket: TLSSocket) => void) {
    this.#deps = deps;
    this.#server = createServer(
      {
        ...handshakeSettings,
        handshakeTimeout: HANDSHAKE_MS,
        ticketKeys: this.#ticketKeys,
        SNICallback: (name, done) => done(null, this.#contextFor(name)),
        ALPNCallback: ({ servername, protocols }) => {
          // Node passes false if the client sends no host name.
          if (protocols.includes("h2") && deps.speaksHttp2(servername || "")) return "h2";
          return protocols.includes("http/1.1") ? "http/1.1" : undefined;
        },
      },
      (socket) => {
        this.#handshakes.get(peerOf(socket))?.();
        ready(socket);
      },
    );
    this.#server.on("tlsClientError", (_error, socket) => socket.destroy());
    this.#challenges = createServer(
      {
        ...handshakeSettings,
        handshakeTimeout: HANDSHAKE_MS,
        ALPNProtocols: [CHALLENGE_PROTOCOL],
        SNICallback: (name, done) => {
          const challenge = deps.challengeOf(hostOf(name) ?? "");
          if (challenge === undefined) done(new Error("the challenge was withdrawn"));
          else done(null, contextOf(challenge));
        },
      },
      // The authority has seen the certificate: https://www.rfc-editor.org/rfc/rfc8737#section-3
      (socket) => socket.destroySoon(),
    );
    this.#challenges.on("tlsClientError", (_error, socket) => socket.destroy());
    this.#rotation = setInterval(() => {
      this.#ticketKeys = randomBytes(TICKET_KEY_BYTES);
      this.#server.setTicketKeys(this.#ticketKeys);
    }, TICKET_KEY_MS).unref();
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
    if (protocols.includes(CHALLENGE_PROTOCOL)) {
      const host = serverName === undefined ? undefined : hostOf(serverName);
      return host !== undefined && this.#deps.challengeOf(host) !== undefined ? this.#challenges : undefined;
    }
    if (this.#contextFor(serverName) === undefined) return undefined;
    if (serverName === undefined) this.#useFallback();
    return this.#server;
  }

  /**
   * A service whose certificate does not exist yet gets the fallback, so that its users see a certificate error. An
   * invented host name gets no certificate, because a handshake for it would only use CPU.
   */
  #contextFor(serverName: string | undefined): SecureContext | undefined {
    const { certificates, hasService } = this.#deps;
    const context = certificates.find(serverName);
    if (context !== undefined || serverName === undefined) return context;
    const host = hostOf(serverName);
    return host !== undefined && hasService(host) ? certificates.find(undefined) : undefined;
  }

  /** Node does not ask for a context if the client sends no host name. */
  #useFallback(): void {
    const { fallback } = this.#deps.certificates;
    if (fallback === undefined || fallback === this.#nameless) return;
    this.#nameless = fallback;
    const { chain: cert, key } = fallback;
    this.#server.setSecureContext({ ...handshakeSettings, cert, key: key(), ticketKeys: this.#ticketKeys });
  }

  /** Stops the rotation of keys. Open connections continue. */
  close(): void {
    clearInterval(this.#rotation);
  }
}
