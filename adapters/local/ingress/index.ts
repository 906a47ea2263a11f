/**
 * The ingress: every service has a stable loopback port, and all share one port by host name, `NAME.localhost` or
 * `NAME.DOMAIN`.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { constants } from "node:http2";
import { readOn } from "../../shared/calls/drain-body.ts";
import { describeListenError } from "../../shared/runtime/loopback.ts";
import { bodyOf, NOT_HTTP2, sendOwnAnswer, UNKNOWN_HOST } from "./answers.ts";
import { serviceNamedBy, urlBelow } from "./domain.ts";
import { type FrontDeps, serveRequest } from "./front.ts";
import { Gate, type Serving } from "./gate.ts";
import { serveOverHttp2, serveStream } from "./http2.ts";
import { type Handlers, type Listener, listen } from "./listener.ts";
import type { Pool } from "./pool.ts";
import { mayUpgrade, serveUpgrade } from "./upgrade.ts";

export interface IngressConfig extends FrontDeps {
  readonly host: string;
  /** The shared port; 0 for any free port. */
  readonly port: number;
  readonly drainMillis: number;
  /** Handles requests to the shared port below the platform's own path. */
  readonly platform: (req: IncomingMessage, res: ServerResponse) => void;
  /** The previous shared port, used when `port` is 0. */
  readonly rememberedSharedPort: { get(): string | undefined; set(value: string): void };
  /**
   * Previous port of signed URLs; undefined if they use the shared port. In a separate network, a service may itself
   * listen on the shared port's number.
   */
  readonly rememberedStoragePort: { get(): string | undefined; set(value: string): void } | undefined;
  /** Number of ports to reserve for future services. */
  readonly sparePorts: number;
  /** A service's previous port, if known. */
  readonly rememberedPort: (service: string) => number | undefined;
  readonly rememberPort: (service: string, port: number) => void;
}

/** The platform owns paths below this, on every host name. */
const PLATFORM_PATH = "/_portside/";

/** A port, and its service once it has one. */
interface Door {
  gate: Gate | undefined;
  readonly listener: Listener;
}

interface Entrance {
  readonly gate: Gate;
  readonly door: Door;
}

/** Maximum number of deleted services' ports to hold back. Beyond that, new services get the oldest. */
const MAX_KEPT = 128;

export class Ingress {
  readonly #config: IngressConfig;
  readonly #entrances = new Map<string, Entrance>();
  #shared: Listener | undefined;
  #storage: Listener | undefined;
  #spare: Door[] = [];
  /**
   * Ports of deleted services, oldest first. Running services' networks still lead to them, so no other program on this
   * machine may get them.
   */
  readonly #kept = new Map<number, Door>();
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

  /** Every port of the platform and its services, including those reserved for future services. */
  ports(): number[] {
    const services = [...this.#entrances.values()].map(({ door }) => door);
    const doors = [...services, ...this.#kept.values(), ...this.#spare];
    return [this.port, this.storagePort, ...doors.map(({ listener }) => listener.port)];
  }

  async open(): Promise<void> {
    const byHost = (host: string | undefined) => this.#gateOf(host);
    const { host, port, rememberedSharedPort } = this.#config;
    const wanted = port === 0 ? Number(rememberedSharedPort.get() ?? 0) : port;
    this.#shared = await listen(host, wanted, this.#handlers(byHost, this.#config.platform), port !== 0).catch(
      (error: unknown) => {
        const message = describeListenError(error, { port: wanted, purpose: "services", setting: "--ingress-port" });
        throw new Error(message, { cause: error });
      },
    );
    rememberedSharedPort.set(String(this.#shared.port));
    await this.#openStorage();
    await this.#refill();
  }

  /** Returns the service's own port; opens its listener at the first call. */
  async enter(service: string): Promise<number> {
    const present = this.#entrances.get(service);
    if (present !== undefined) return present.door.listener.port;
    const gate = new Gate(service);
    const remembered = this.#config.rememberedPort(service);
    const door = await this.#doorFor(remembered);
    door.gate = gate;
    this.#entrances.set(service, { gate, door });
    const { port } = door.listener;
    if (port !== remembered) this.#config.rememberPort(service, port);
    return port;
  }

  async #openStorage(): Promise<void> {
    const { host, rememberedStoragePort: remembered, platform } = this.#config;
    if (remembered === undefined) return;
    this.#storage = await listen(
      host,
      Number(remembered.get() ?? 0),
      this.#handlers(() => undefined, platform),
    );
    remembered.set(String(this.#storage.port));
  }

  async #openDoor(wanted: number): Promise<Door> {
    const handlers = this.#handlers(() => door.gate);
    const door: Door = { gate: undefined, listener: await listen(this.#config.host, wanted, handlers) };
    return door;
  }

  async #refill(): Promise<void> {
    const { sparePorts } = this.#config;
    this.#spare = await Promise.all(Array.from({ length: sparePorts }, () => this.#openDoor(0)));
  }

  /** The service's previous port, or else one to which running services' networks already lead. */
  async #doorFor(remembered: number | undefined): Promise<Door> {
    const kept = remembered === undefined ? undefined : this.#kept.get(remembered);
    if (kept !== undefined) {
      this.#kept.delete(kept.listener.port);
      return kept;
    }
    const spare = remembered === undefined ? this.#spare.pop() : undefined;
    if (spare === undefined) return this.#openDoor(remembered ?? 0);
    if (this.#spare.length === 0) await this.#refill();
    return spare;
  }

  /** Sends a service's new requests to a revision; undefined stops serving. */
  switchTo(service: string, serving: Serving | undefined): void {
    this.#entrances.get(service)?.gate.switchTo(serving, this.#config.drainMillis);
  }

  /** The service's own port; undefined if the service has not entered. */
  portOf(service: string): number | undefined {
    return this.#entrances.get(service)?.door.listener.port;
  }

  /** The service's public address. */
  urlOf(service: string): string {
    const { domain } = this.#config;
    if (domain !== undefined) return urlBelow(domain, service, this.port);
    return `http://127.0.0.1:${this.portOf(service) ?? 0}`;
  }

  /** Pools that take requests; excludes draining ones. */
  pools(): Pool[] {
    return [...this.#entrances.values()].flatMap(({ gate }) => gate.serving?.pool ?? []);
  }

  gate(service: string): Gate | undefined {
    return this.#entrances.get(service)?.gate;
  }

  /** Holds back a deleted service's port, because services' networks lead to it. */
  #keep(door: Door): void {
    door.gate = undefined;
    this.#kept.set(door.listener.port, door);
    const [oldest] = this.#kept.values();
    if (oldest === undefined || this.#kept.size <= MAX_KEPT) return;
    this.#kept.delete(oldest.listener.port);
    this.#spare.unshift(oldest);
  }

  /** Removes a service; running requests have the drain time to finish. */
  async leave(service: string): Promise<void> {
    const entrance = this.#entrances.get(service);
    if (entrance === undefined) return;
    this.#entrances.delete(service);
    const { gate, door } = entrance;
    const keeps = this.#config.sparePorts > 0 && !this.#closing;
    const closeOthers = keeps ? door.listener.release() : () => door.listener.close();
    if (keeps) this.#keep(door);
    else door.listener.stop();
    gate.switchTo(undefined, this.#config.drainMillis);
    await gate.close(this.#config.drainMillis);
    closeOthers();
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.#shared?.stop();
    await Promise.all([...this.#entrances.keys()].map((service) => this.leave(service)));
    this.#shared?.close();
    this.#storage?.close();
    for (const { listener } of [...this.#spare, ...this.#kept.values()]) listener.close();
  }

  #gateOf(host: string | undefined): Gate | undefined {
    const name = serviceNamedBy(host ?? "", this.#config.domain);
    return name === undefined ? undefined : this.gate(name);
  }

  #handlers(gateOf: (host: string | undefined) => Gate | undefined, platform?: IngressConfig["platform"]): Handlers {
    const deps = this.#config;
    const isPlatforms = (path: string | undefined): boolean => path?.startsWith(PLATFORM_PATH) === true;
    const refuse = (req: IncomingMessage, res: ServerResponse) => {
      res.once("close", () => readOn(req));
      sendOwnAnswer(res, UNKNOWN_HOST, deps.ids.id());
    };
    const find = (host: string | undefined, path: string | undefined) => (isPlatforms(path) ? undefined : gateOf(host));
    return {
      request: (req: IncomingMessage, res: ServerResponse) => {
        const gate = find(req.headers.host, req.url);
        if (platform !== undefined && isPlatforms(req.url)) platform(req, res);
        else if (gate === undefined) refuse(req, res);
        else if (gate.serving?.template.useHttp2 === true) serveOverHttp2(deps, req, res, gate);
        else serveRequest(deps, req, res, gate);
      },
      mayContinue: ({ url }) => platform === undefined || !isPlatforms(url),
      mayUpgrade,
      upgrade: (req, socket, head) => {
        const gate = find(req.headers.host, req.url);
        if (gate === undefined) socket.end("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        else void serveUpgrade(deps, req, socket, head, gate);
      },
      stream: (stream, headers) => {
        // The stream's close event follows.
        stream.on("error", () => undefined);
        const gate = find(
          headers[constants.HTTP2_HEADER_AUTHORITY] as string | undefined,
          headers[constants.HTTP2_HEADER_PATH] as string | undefined,
        );
        const speaksHttp2 = gate?.serving?.template.useHttp2 !== false;
        if (gate !== undefined && speaksHttp2) return serveStream(deps, stream, headers, gate);
        stream.respond({ ":status": gate === undefined ? 404 : 505, "content-type": "application/json" });
        stream.end(bodyOf(gate === undefined ? UNKNOWN_HOST : NOT_HTTP2));
      },
    };
  }
}
