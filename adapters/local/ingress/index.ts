/**
 * Routes requests to services. Every service has a stable port. In addition, all services share one port, on which the
 * host name selects the service: `NAME.localhost`, `NAME.DOMAIN` or a custom domain. The HTTPS port works the same way.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { Server, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Logger } from "../../../core/ports/system.ts";
import { drainBody } from "../../shared/calls/drain-body.ts";
import { describeListenError } from "../../shared/runtime/loopback.ts";
import { type CertificateSource, hostOf } from "../tls/certificates.ts";
import type { ConnectionLimiter } from "../tls/connection-limiter.ts";
import { type HttpPortDeps, serveHttpPort } from "../tls/http-port.ts";
import type { ServedHosts } from "../tls/served-hosts.ts";
import type { TlsAcceptorDeps } from "../tls/tls-acceptor.ts";
import { authorityOf, fromRequest, fromStream } from "./client-side.ts";
import { plainHost, serviceOfHost } from "./domain.ts";
import {
  type ErrorResponse,
  errorBody,
  MISDIRECTED,
  NOT_HTTP2,
  sendErrorResponse,
  UNKNOWN_HOST,
} from "./error-responses.ts";
import { serveOverHttp2 } from "./http2.ts";
import { type Handlers, Listener } from "./listener.ts";
import { type ProxyDeps, serveRequest } from "./proxied-request.ts";
import { type ActiveRevision, ServiceRoute } from "./service-route.ts";
import { mayUpgrade, sendRefusal, serveUpgrade, type UpgradeHeaders } from "./upgrade.ts";

export interface IngressConfig extends ProxyDeps {
  readonly host: string;
  /** The shared port; 0 for any free port. */
  readonly port: number;
  readonly drainMillis: number;
  /** Handles requests to the platform's own paths on the shared port, the HTTPS port and the port of signed URLs. */
  readonly platform: (req: IncomingMessage, res: ServerResponse) => void;
  /** The previous shared port, used when `port` is 0; undefined for any free port. */
  readonly previousSharedPort: number | undefined;
  /** Returns the service of a custom domain, or undefined if the host is not a custom domain. */
  readonly serviceOfDomain: (host: string) => string | undefined;
  /** HTTPS; undefined if Portside does not terminate TLS. */
  readonly tls?: TlsConfig | undefined;
  /**
   * The previous port of signed URLs, "any" for any free port, or undefined to use the shared port. Services with
   * separate networks need a separate port, because they may themselves listen on the shared port's number.
   */
  readonly previousStoragePort: number | "any" | undefined;
  /** Number of ports to reserve for future services. */
  readonly sparePorts: number;
  /** The configured or previous port of a service, if it has one. */
  readonly previousPort: (service: string) => number | undefined;
}

/** A port that is chosen like the shared port. */
export interface PublicPort {
  /** 0 for any free port. */
  readonly port: number;
  /** The previous port, used when `port` is 0. */
  readonly previous: number | undefined;
}

export interface TlsConfig {
  /** The address of both ports. */
  readonly host: string;
  readonly https: PublicPort;
  /** The port that redirects to HTTPS; undefined for none. */
  readonly http: PublicPort | undefined;
  readonly certificates: CertificateSource;
  readonly connections: Pick<ConnectionLimiter, "admit">;
  readonly challenges: Pick<ServedHosts, "challengeCertificate" | "challengeAnswer">;
  readonly logger: Logger;
  /** The seconds for which browsers must use HTTPS for a host; 0 omits `Strict-Transport-Security`. */
  readonly hstsSeconds: number;
  /** The host of the API; undefined if the port does not serve the API. */
  readonly api?: ApiHost | undefined;
}

/** A host whose connections a different server serves. */
export interface ApiHost {
  readonly host: string;
  /** Receives each connection for the host after the handshake. */
  readonly onConnection: (socket: TLSSocket) => void;
}

/** The purpose of a port; a `kept` port belonged to a deleted service. */
export type PortUse =
  | { readonly kind: "shared" | "storage" | "spare" | "kept" | "tls" | "http" }
  | { readonly kind: "service"; readonly service: string };

/** A port that one process hands over to another. */
export interface IngressPort {
  readonly port: number;
  readonly use: PortUse;
}

export interface ListeningPort extends IngressPort {
  /** One server for each address. */
  readonly servers: readonly Server[];
}

/** Paths with this prefix belong to the platform, on every host name. */
const PLATFORM_PATH = "/_portside/";

/** A listening port that belongs to a service or is reserved for one. */
interface ServicePort {
  route: ServiceRoute | undefined;
  readonly listener: Listener;
}

/**
 * Maximum number of reserved ports of deleted services. Beyond that, the oldest port becomes available to new services.
 */
const MAX_KEPT = 128;

const isPlatforms = (path: string | undefined): boolean => path?.startsWith(PLATFORM_PATH) === true;

const refuse = (req: IncomingMessage, res: ServerResponse, answer: ErrorResponse, requestId: string): void => {
  res.once("close", () => drainBody(req));
  sendErrorResponse(res, answer, requestId);
};

/** @param added headers of every response */
const answerStream = (stream: ServerHttp2Stream, answer: ErrorResponse, added: OutgoingHttpHeaders = {}): void => {
  stream.respond({ ...added, ":status": answer.status, "content-type": "application/json" });
  stream.end(errorBody(answer));
};

/**
 * Returns true if the connection's certificate is valid for the host, or if the client sent no host name in the
 * handshake. By default, nginx as a proxy sends none, and does not check the certificate.
 */
const isCovered = (host: string, socket: TLSSocket): boolean =>
  !socket.servername ||
  host === hostOf(socket.servername) ||
  socket.getX509Certificate()?.checkHost(host) !== undefined;

export class Ingress {
  readonly #config: IngressConfig;
  readonly #services = new Map<string, ServicePort>();
  #shared: Listener | undefined;
  #storage: Listener | undefined;
  #tls: Listener | undefined;
  #http: Listener | undefined;
  #spare: ServicePort[] = [];
  /**
   * Ports of deleted services, oldest first. The networks of running services still forward to these ports, so no other
   * program on this machine may get them.
   */
  readonly #kept = new Map<number, ServicePort>();
  /** The ports of another process that the settings of this process do not contain. */
  readonly #unwanted = new Set<number>();
  #closing = false;

  constructor(config: IngressConfig) {
    this.#config = config;
  }

  /** The shared port; valid once `open` has resolved. */
  get port(): number {
    return this.#shared?.port ?? 0;
  }

  /** The port of signed URLs. */
  get storagePort(): number {
    return this.#storage?.port ?? this.port;
  }

  /** The port of HTTPS; undefined if Portside does not terminate TLS. */
  get tlsPort(): number | undefined {
    return this.#tls?.port;
  }

  /** The port that redirects to HTTPS, if there is one. */
  get httpPort(): number | undefined {
    return this.#http?.port;
  }

  /** Every port of the platform and its services except for `httpPort`, including ports reserved for services. */
  ports(): number[] {
    return [
      this.port,
      this.storagePort,
      this.tlsPort,
      ...this.#servicePorts().map(({ listener }) => listener.port),
    ].filter((port) => port !== undefined);
  }

  /** Opens the public ports that the ingress has not inherited. */
  async open(): Promise<void> {
    this.#shared ??= await this.#openShared();
    this.#storage ??= await this.#openStorage();
    const { tls } = this.#config;
    if (tls !== undefined) {
      const hostSetting = tls.host === this.#config.host ? "--host" : "--tls-host";
      this.#tls ??= await this.#openPublic(
        { ...tls.https, host: tls.host },
        "HTTPS",
        ["--tls-port", hostSetting],
        this.#tlsHandlers(tls),
        this.#acceptorDeps(tls),
      );
      if (tls.http !== undefined)
        this.#http ??= await this.#openPublic(
          { ...tls.http, host: tls.host },
          "HTTP",
          ["--http-port", hostSetting],
          this.#httpHandlers(tls),
        );
    }
  }

  /** Opens ports for services created later, if none are left. */
  async openSparePorts(): Promise<void> {
    if (this.#spare.length > 0) return;
    const { sparePorts } = this.#config;
    this.#spare = await Promise.all(Array.from({ length: sparePorts }, () => this.#openServicePort(0)));
  }

  /**
   * Prepares a listener for each port of another process. A listener accepts connections once `adopt` receives its
   * server. The caller must call this method before `open`, and may call it again with a newer list. The newer list
   * must contain every service that still exists. A service whose port has changed keeps its route. Resolves when the
   * ingress has removed the services that are missing from the newer list.
   */
  async inherit(ports: readonly IngressPort[]): Promise<void> {
    const portsOf = new Map(ports.map(({ port, use }) => [use.kind === "service" ? use.service : undefined, port]));
    const removed = [...this.#services.keys()].filter((service) => !portsOf.has(service));
    const removals = removed.map((service) => this.removeService(service));
    const moved = [...this.#services].filter(([service, { listener }]) => portsOf.get(service) !== listener.port);
    const routes = new Map(moved.map(([service, { route }]) => [service, route]));
    for (const [service, servicePort] of moved) {
      this.#services.delete(service);
      this.#free(servicePort)();
    }
    const listed = new Set(ports.map(({ port }) => port));
    for (const [port, { listener }] of this.#kept)
      if (listener.servers.length === 0 && !listed.has(port)) this.#kept.delete(port);
    for (const one of ports) this.#inherit(one, routes);
    await Promise.all(removals);
  }

  /**
   * Accepts connections to a port that the ingress has inherited. Closes the server if the settings of this process do
   * not contain the port.
   * @param received a server that another process sent. The caller must be in the `message` event that delivered it.
   */
  adopt(port: number, received: Server): void {
    const listener = this.#listeners().find((one) => one.port === port);
    if (listener === undefined && this.#unwanted.has(port)) return void received.close();
    if (listener === undefined) throw new Error(`The ingress has not inherited port ${port}.`);
    listener.adopt(received);
  }

  /** Returns the ports, which the caller can send to another process. The ports stay open until `drain`. */
  listeningPorts(): readonly ListeningPort[] {
    const entry = (use: PortUse, { port, servers }: Listener) => ({ port, use, servers });
    return [
      ...(this.#shared === undefined ? [] : [entry({ kind: "shared" }, this.#shared)]),
      ...(this.#storage === undefined ? [] : [entry({ kind: "storage" }, this.#storage)]),
      ...(this.#tls === undefined ? [] : [entry({ kind: "tls" }, this.#tls)]),
      ...(this.#http === undefined ? [] : [entry({ kind: "http" }, this.#http)]),
      ...[...this.#services].map(([service, { listener }]) => entry({ kind: "service", service }, listener)),
      ...this.#spare.map(({ listener }) => entry({ kind: "spare" }, listener)),
      ...[...this.#kept.values()].map(({ listener }) => entry({ kind: "kept" }, listener)),
    ];
  }

  /**
   * Stops accepting connections after another process has adopted the ports. An HTTP/1.1 connection closes after its
   * next response, and an HTTP/2 session when its streams have ended. Closes the remaining connections, such as idle
   * ones and WebSockets, after `millis`. Resolves when no connection is left.
   */
  async drain(millis: number): Promise<void> {
    const listeners = this.#listeners();
    const timer = setTimeout(() => {
      for (const listener of listeners) listener.close();
    }, millis);
    await Promise.all(listeners.map((listener) => listener.drain()));
    clearTimeout(timer);
  }

  /** Adds the service if it does not exist yet, and returns its own port. */
  async addService(service: string): Promise<number> {
    const present = this.portOf(service);
    if (present !== undefined) return present;
    const servicePort = await this.#servicePortFor(this.#config.previousPort(service));
    servicePort.route = new ServiceRoute(service);
    this.#services.set(service, servicePort);
    return servicePort.listener.port;
  }

  #servicePorts(): ServicePort[] {
    return [...this.#services.values(), ...this.#kept.values(), ...this.#spare];
  }

  #listeners(): Listener[] {
    const publicPorts = [this.#shared, this.#storage, this.#tls, this.#http];
    const listeners = [...publicPorts, ...this.#servicePorts().map(({ listener }) => listener)];
    return listeners.filter((listener) => listener !== undefined);
  }

  async #openShared(): Promise<Listener> {
    const { host, port, previousSharedPort: previous } = this.#config;
    return this.#openPublic({ host, port, previous }, "services", ["--ingress-port", "--host"], this.#sharedHandlers());
  }

  async #openPublic(
    { host, port, previous = 0 }: PublicPort & { readonly host: string },
    purpose: string,
    [setting, hostSetting]: readonly [port: string, host: string],
    handlers: Handlers,
    tls?: TlsAcceptorDeps,
  ): Promise<Listener> {
    const preferredPort = port === 0 ? previous : port;
    return Listener.open(host, preferredPort, handlers, { strict: port !== 0, tls }).catch((error: unknown) => {
      const wanted = { port: preferredPort, purpose, setting, address: { host, setting: hostSetting } };
      throw new Error(describeListenError(error, wanted), { cause: error });
    });
  }

  async #openStorage(): Promise<Listener | undefined> {
    const { host, previousStoragePort: previous } = this.#config;
    if (previous === undefined) return undefined;
    return Listener.open(host, previous === "any" ? 0 : previous, this.#storageHandlers());
  }

  async #openServicePort(preferredPort: number): Promise<ServicePort> {
    const handlers = this.#handlers(() => servicePort.route);
    const servicePort: ServicePort = {
      route: undefined,
      listener: await Listener.open(this.#config.host, preferredPort, handlers),
    };
    return servicePort;
  }

  /** @param routes the routes of services whose port has changed */
  #inherit({ port, use }: IngressPort, routes: ReadonlyMap<string, ServiceRoute | undefined>): void {
    if (use.kind === "shared") this.#shared ??= new Listener(this.#sharedHandlers(), port);
    else if (use.kind === "storage") this.#storage ??= new Listener(this.#storageHandlers(), port);
    else if (use.kind === "service") this.#inheritService(port, use.service, routes.get(use.service));
    else if (use.kind === "tls" || use.kind === "http") this.#inheritPublic(port, use.kind);
    else {
      const servicePort = this.#takeReserved(port) ?? this.#prepareServicePort(port);
      if (use.kind === "spare") this.#spare.push(servicePort);
      else this.#kept.set(port, servicePort);
    }
  }

  /** Does nothing if the settings no longer contain the port. */
  #inheritPublic(port: number, kind: "tls" | "http"): void {
    const { tls } = this.#config;
    if (tls !== undefined && kind === "tls")
      this.#tls ??= new Listener(this.#tlsHandlers(tls), port, this.#acceptorDeps(tls));
    else if (tls?.http !== undefined && kind === "http") this.#http ??= new Listener(this.#httpHandlers(tls), port);
    else this.#unwanted.add(port);
  }

  #inheritService(port: number, service: string, route = new ServiceRoute(service)): void {
    if (this.portOf(service) === port) return;
    const servicePort = this.#takeReserved(port) ?? this.#prepareServicePort(port);
    servicePort.route = route;
    this.#services.set(service, servicePort);
  }

  #takeReserved(port: number): ServicePort | undefined {
    const servicePort = [...this.#kept.values(), ...this.#spare].find(({ listener }) => listener.port === port);
    this.#kept.delete(port);
    this.#spare = this.#spare.filter((spare) => spare !== servicePort);
    return servicePort;
  }

  #prepareServicePort(port: number): ServicePort {
    const handlers = this.#handlers(() => servicePort.route);
    const servicePort: ServicePort = { route: undefined, listener: new Listener(handlers, port) };
    return servicePort;
  }

  /**
   * Returns the service's previous port, or any free port if another program has taken it. A service without a previous
   * port gets a spare port, to which the networks of running services already forward.
   */
  async #servicePortFor(previous: number | undefined): Promise<ServicePort> {
    const kept = previous === undefined ? undefined : this.#kept.get(previous);
    if (kept !== undefined) {
      this.#kept.delete(kept.listener.port);
      return kept;
    }
    const spare = previous === undefined ? this.#spare.pop() : undefined;
    return spare ?? this.#openServicePort(previous ?? 0);
  }

  /** Routes a service's new requests to a revision. `undefined` stops serving the service. */
  switchTo(service: string, serving: ActiveRevision | undefined): void {
    this.route(service)?.switchTo(serving, this.#config.drainMillis);
  }

  /** The service's own port; undefined if the service has not been added. */
  portOf(service: string): number | undefined {
    return this.#services.get(service)?.listener.port;
  }

  /** The services' own ports, by the service's name. */
  servicePorts(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#services].map(([service, { listener }]) => [service, listener.port]));
  }

  /** The revisions that take requests. Excludes draining revisions. */
  serving(): ActiveRevision[] {
    return [...this.#services.values()].flatMap(({ route }) => route?.serving ?? []);
  }

  route(service: string): ServiceRoute | undefined {
    return this.#services.get(service)?.route;
  }

  /** Reserves a deleted service's port, because the networks of running services forward to it. */
  #keep(servicePort: ServicePort): void {
    servicePort.route = undefined;
    this.#kept.set(servicePort.listener.port, servicePort);
    const [oldest] = this.#kept.values();
    if (oldest === undefined || this.#kept.size <= MAX_KEPT) return;
    this.#kept.delete(oldest.listener.port);
    this.#spare.unshift(oldest);
  }

  /**
   * Stops listening on the port of a removed service, or reserves the port. Returns a function that closes the
   * connections that still have requests.
   */
  #free(servicePort: ServicePort): () => void {
    const { listener } = servicePort;
    // A port that has not been adopted yet may become the port of a new service with the same name.
    const isInherited = listener.servers.length === 0;
    if ((this.#config.sparePorts > 0 || isInherited) && !this.#closing) {
      this.#keep(servicePort);
      return listener.release();
    }
    listener.stop();
    return () => listener.close();
  }

  /** Removes a service. Its running requests may finish within the drain time. */
  async removeService(service: string): Promise<void> {
    const servicePort = this.#services.get(service);
    if (servicePort?.route === undefined) return;
    this.#services.delete(service);
    const { route } = servicePort;
    const closeOthers = this.#free(servicePort);
    route.switchTo(undefined, this.#config.drainMillis);
    await route.close(this.#config.drainMillis);
    closeOthers();
  }

  async close(): Promise<void> {
    this.#closing = true;
    const publicPorts = [this.#shared, this.#tls, this.#http];
    for (const listener of publicPorts) listener?.stop();
    await Promise.all([...this.#services.keys()].map((service) => this.removeService(service)));
    for (const listener of publicPorts) listener?.close();
    this.#storage?.close();
    for (const { listener } of [...this.#spare, ...this.#kept.values()]) listener.close();
  }

  #routeOf(host: string | undefined): ServiceRoute | undefined {
    const { domain, serviceOfDomain } = this.#config;
    const name = serviceOfHost(host ?? "", domain) ?? serviceOfDomain(plainHost(host ?? ""));
    return name === undefined ? undefined : this.route(name);
  }

  #sharedHandlers(added?: UpgradeHeaders): Handlers {
    return this.#handlers((name) => this.#routeOf(name), this.#config.platform, added);
  }

  #acceptorDeps({ certificates, connections, challenges, logger }: TlsConfig): TlsAcceptorDeps {
    return {
      certificates,
      connections,
      logger,
      hasService: (host) => this.#routeOf(host) !== undefined,
      challengeOf: (host) => challenges.challengeCertificate(host),
      speaksHttp2: (host) => this.#routeOf(host)?.serving?.template.useHttp2 === true,
    };
  }

  #tlsHandlers({ hstsSeconds, api }: TlsConfig): Handlers {
    const headers: UpgradeHeaders = hstsSeconds === 0 ? {} : { "strict-transport-security": `max-age=${hstsSeconds}` };
    const handlers = this.#sharedHandlers(headers);
    const isApis = (host: string) => host === api?.host;
    // `take` has handed over all connections for the API's host. Clients reuse a connection for every host in its
    // certificate, and open a new one after a 421: https://www.rfc-editor.org/rfc/rfc9110#section-7.4
    const isMisdirected = (authority: string | undefined, connection: Socket) => {
      const host = plainHost(authority ?? "");
      return isApis(host) || !isCovered(host, connection as TLSSocket);
    };
    return {
      ...handlers,
      take: (socket) => {
        if (api === undefined || !isApis(hostOf(socket.servername || "") ?? "")) return false;
        api.onConnection(socket);
        return true;
      },
      request: (req, res) => {
        for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
        if (isMisdirected(req.headers.host, req.socket)) refuse(req, res, MISDIRECTED, this.#config.ids.id());
        else handlers.request(req, res);
      },
      upgrade: (req, socket, head) => {
        if (isMisdirected(req.headers.host, socket)) sendRefusal(socket, MISDIRECTED, this.#config.ids.id(), headers);
        else handlers.upgrade(req, socket, head);
      },
      stream: (stream, received, connection) => {
        const { servername } = connection as TLSSocket;
        const authority = authorityOf(received);
        const route = this.#routeOf(authority);
        const usesHttp1 = route !== undefined && route.serving?.template.useHttp2 !== true;
        // The service used HTTP/2 when the client connected. The client's next connection uses HTTP/1.1.
        if (usesHttp1 && plainHost(authority) === hostOf(servername || "")) stream.session?.close();
        const needsHttp1 = usesHttp1 || isPlatforms(received[constants.HTTP2_HEADER_PATH] as string | undefined);
        if (needsHttp1 || isMisdirected(authority, connection)) answerStream(stream, MISDIRECTED, headers);
        else if (route === undefined) answerStream(stream, UNKNOWN_HOST, headers);
        else void serveOverHttp2(this.#config, fromStream(stream, received, connection, headers), route);
      },
    };
  }

  #httpHandlers({ challenges }: TlsConfig): Handlers {
    const { ids } = this.#config;
    const deps: HttpPortDeps = {
      answerTo: (host, token) => challenges.challengeAnswer(host, token),
      hasCertificate: (host) => this.#tls?.tls?.covers(host) === true,
      tlsPort: () => this.tlsPort as number,
      id: () => ids.id(),
    };
    return {
      request: (req, res) => {
        res.once("close", () => drainBody(req));
        serveHttpPort(deps, req, res);
      },
      mayContinue: () => false,
      mayUpgrade: () => false,
      upgrade: (_req, socket) => socket.destroy(),
      stream: (stream) => stream.close(constants.NGHTTP2_HTTP_1_1_REQUIRED),
    };
  }

  #storageHandlers(): Handlers {
    return this.#handlers(() => undefined, this.#config.platform);
  }

  #handlers(
    routeOf: (host: string | undefined) => ServiceRoute | undefined,
    platform?: IngressConfig["platform"],
    added: UpgradeHeaders = {},
  ): Handlers {
    const deps = this.#config;
    const find = (host: string | undefined, path: string | undefined) =>
      isPlatforms(path) ? undefined : routeOf(host);
    return {
      request: (req: IncomingMessage, res: ServerResponse) => {
        const route = find(req.headers.host, req.url);
        if (platform !== undefined && isPlatforms(req.url)) platform(req, res);
        else if (route === undefined) refuse(req, res, UNKNOWN_HOST, deps.ids.id());
        else if (route.serving?.template.useHttp2 === true) void serveOverHttp2(deps, fromRequest(req, res), route);
        else serveRequest(deps, req, res, route);
      },
      mayContinue: ({ url }) => platform === undefined || !isPlatforms(url),
      mayUpgrade,
      upgrade: (req, socket, head) => {
        const route = find(req.headers.host, req.url);
        if (route === undefined) sendRefusal(socket, UNKNOWN_HOST, deps.ids.id(), added);
        else void serveUpgrade({ ...deps, added }, req, socket, head, route);
      },
      stream: (stream, headers, connection) => {
        const route = find(authorityOf(headers), headers[constants.HTTP2_HEADER_PATH] as string | undefined);
        const speaksHttp2 = route?.serving?.template.useHttp2 !== false;
        if (route !== undefined && speaksHttp2)
          return void serveOverHttp2(deps, fromStream(stream, headers, connection), route);
        answerStream(stream, route === undefined ? UNKNOWN_HOST : NOT_HTTP2);
      },
    };
  }
}
