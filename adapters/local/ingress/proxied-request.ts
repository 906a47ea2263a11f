/** Handles an HTTP/1.1 request: waits for an instance, forwards the request, enforces its timeout and logs it. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { NewLogEntry } from "../../../core/domain/logs/entry.ts";
import { saneRequestId } from "../../../core/domain/wire/request-id.ts";
import type { Ids } from "../../../core/ports/system.ts";
import { drainBody } from "../../shared/calls/drain-body.ts";
import { affinityCookie, affinityInstance } from "./affinity.ts";
import { isEncrypted } from "./client-side.ts";
import { type Domain, requestScheme, type Scheme } from "./domain.ts";
import {
  BAD_HEADERS,
  BAD_TARGET,
  BAD_TRANSFER_CODING,
  BROKEN_CONNECTION,
  type ErrorResponse,
  responseToRefusal,
  sendErrorResponse,
  TIMED_OUT,
} from "./error-responses.ts";
import { type ExchangeEnd, Http1Exchange } from "./http1-exchange.ts";
import { hasBody, hasKnownTransferCoding, RelayedBody } from "./relayed-body.ts";
import { requestEntry } from "./request-log.ts";
import type { Admission, ServiceRoute } from "./service-route.ts";

export interface ProxyDeps {
  readonly ids: Ids;
  /** Services have the host names `NAME.DOMAIN` in addition to `NAME.localhost`. */
  readonly domain?: Domain | undefined;
  readonly log: (entry: NewLogEntry) => void;
}

/** Maximum number of instances to try for one request if instances refuse connections. */
export const MAX_ATTEMPTS = 3;

class ProxiedRequest {
  readonly #deps: ProxyDeps;
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #route: ServiceRoute;
  readonly #requestId: string;
  readonly #remoteIp: string;
  readonly #scheme: Scheme;
  readonly #begun = performance.now();
  readonly #affinity: string | undefined;
  #admission: Admission | undefined;
  #body: RelayedBody | null = null;
  #exchange: Http1Exchange | undefined;
  #timer: NodeJS.Timeout | undefined;
  #attempts = 0;
  #status = 0;
  #over = false;

  constructor(deps: ProxyDeps, req: IncomingMessage, res: ServerResponse, route: ServiceRoute) {
    this.#deps = deps;
    this.#req = req;
    this.#res = res;
    this.#route = route;
    this.#requestId = saneRequestId(req.headers["x-request-id"]) ?? deps.ids.id();
    this.#remoteIp = req.socket.remoteAddress ?? "";
    this.#scheme = requestScheme(req.headers.host, deps.domain, isEncrypted(req.socket));
    this.#affinity =
      route.serving?.template.sessionAffinity === true ? affinityInstance(req.headers.cookie) : undefined;
    res.once("close", () => this.#closed());
  }

  begin(): void {
    if (!this.#req.url?.startsWith("/")) return this.#answer(BAD_TARGET);
    if (!hasKnownTransferCoding(this.#req)) return this.#answer(BAD_TRANSFER_CODING);
    const admission = this.#route.tryAdmit(this.#affinity);
    if (admission !== undefined) this.#run(admission);
    else void this.#wait();
  }

  async #wait(): Promise<void> {
    const gone = new AbortController();
    const abort = () => gone.abort();
    this.#res.once("close", abort);
    const outcome = await this.#route.admit(this.#affinity, gone.signal);
    this.#res.off("close", abort);
    if ("slot" in outcome) {
      if (this.#answered) outcome.slot.release();
      else this.#run(outcome);
    } else this.#answer(responseToRefusal(outcome));
  }

  #run(admission: Admission): void {
    const { serving, slot } = admission;
    const { id } = slot.pooled.instance;
    this.#admission = admission;
    this.#attempts++;
    if (this.#attempts === 1 && hasBody(this.#req)) this.#body = new RelayedBody(this.#req);
    this.#timer ??= setTimeout(() => this.#timedOut(), serving.template.timeout * 1000);
    this.#exchange = new Http1Exchange(
      {
        req: this.#req,
        res: this.#res,
        body: this.#body,
        pooled: slot.pooled,
        requestId: this.#requestId,
        remoteIp: this.#remoteIp,
        scheme: this.#scheme,
        cookie: serving.template.sessionAffinity && this.#affinity !== id ? affinityCookie(id) : undefined,
      },
      (end) => this.#exchanged(admission, end),
    );
    this.#exchange.begin();
  }

  #exchanged({ slot, serving }: Admission, end: ExchangeEnd): void {
    if (end.kind === "broken" && end.unsent) serving.pool.giveUp(slot.pooled);
    slot.release();
    if (this.#over) return;
    switch (end.kind) {
      case "done":
        return;
      case "refused":
        return this.#answer(BAD_HEADERS);
      case "cut":
        this.#res.destroy();
        return;
      case "broken":
        if (!end.unsent || this.#answered || this.#attempts >= MAX_ATTEMPTS) return this.#answer(BROKEN_CONNECTION);
        void this.#wait();
    }
  }

  #timedOut(): void {
    // If the response has begun, aborting the exchange truncates it.
    this.#answer(TIMED_OUT);
    this.#exchange?.abort(new Error("the request exceeded its timeout"));
  }

  /** True if a response has begun or the client has closed the connection. */
  get #answered(): boolean {
    return this.#over || this.#res.headersSent || this.#res.destroyed;
  }

  #answer(answer: ErrorResponse): void {
    if (!this.#answered) sendErrorResponse(this.#res, answer, this.#requestId);
  }

  /** Called when the response is complete or the client has closed the connection. */
  #closed(): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#timer);
    this.#status = this.#res.headersSent ? this.#res.statusCode : 499;
    if (!this.#res.writableFinished) this.#exchange?.abort(new Error("the client closed the connection"));
    drainBody(this.#req);
    this.#log();
  }

  #log(): void {
    const serving = this.#admission?.serving ?? this.#route.serving;
    if (serving === undefined) return;
    const { headers, method = "GET", url = "/", httpVersion } = this.#req;
    this.#deps.log(
      requestEntry(serving.template, serving.revision, {
        method,
        scheme: this.#scheme,
        target: url,
        host: headers.host ?? this.#route.name,
        status: this.#status,
        responseBytes: this.#exchange?.responseBytes ?? 0,
        userAgent: headers["user-agent"],
        remoteIp: this.#remoteIp,
        protocol: `HTTP/${httpVersion}`,
        requestId: this.#requestId,
        traceparent: headers["traceparent"] as string | undefined,
        millis: performance.now() - this.#begun,
        instance: this.#admission?.slot.pooled.instance.id,
      }),
    );
  }
}

/** Serves a request through a service's route. */
export const serveRequest = (deps: ProxyDeps, req: IncomingMessage, res: ServerResponse, route: ServiceRoute): void =>
  new ProxiedRequest(deps, req, res, route).begin();
