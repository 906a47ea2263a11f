/** Handles a request from arrival to log entry: admits it, forwards it, enforces its timeout, responds. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { NewLogEntry } from "../../../core/domain/logs/entry.ts";
import { saneRequestId } from "../../../core/domain/wire/request-id.ts";
import type { Ids } from "../../../core/ports/system.ts";
import { readOn } from "../../shared/calls/drain-body.ts";
import { cookieFor, instanceOfCookie } from "./affinity.ts";
import {
  answerFor,
  BAD_CODING,
  BAD_HEAD,
  BAD_TARGET,
  BROKEN,
  type OwnAnswer,
  sendOwnAnswer,
  TIMED_OUT,
} from "./answers.ts";
import { type Domain, schemeAskedFor } from "./domain.ts";
import { Exchange, type ExchangeEnd } from "./exchange.ts";
import type { Admission, Gate } from "./gate.ts";
import { hasBody, isPlainOrChunked, RelayedBody } from "./relayed-body.ts";
import { requestEntry } from "./request-log.ts";

export interface FrontDeps {
  readonly ids: Ids;
  /** Services have the host names `NAME.DOMAIN` in addition to `NAME.localhost`. */
  readonly domain?: Domain | undefined;
  readonly log: (entry: NewLogEntry) => void;
}

/** Maximum number of instances to try if they refuse connections. */
export const TRIES = 3;

class Visit {
  readonly #deps: FrontDeps;
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #gate: Gate;
  readonly #requestId: string;
  readonly #remoteIp: string;
  readonly #begun = performance.now();
  readonly #affinity: string | undefined;
  #admission: Admission | undefined;
  #body: RelayedBody | null = null;
  #exchange: Exchange | undefined;
  #timer: NodeJS.Timeout | undefined;
  #tries = 0;
  #status = 0;
  #over = false;

  constructor(deps: FrontDeps, req: IncomingMessage, res: ServerResponse, gate: Gate) {
    this.#deps = deps;
    this.#req = req;
    this.#res = res;
    this.#gate = gate;
    this.#requestId = saneRequestId(req.headers["x-request-id"]) ?? deps.ids.id();
    this.#remoteIp = req.socket.remoteAddress ?? "";
    this.#affinity = gate.serving?.template.sessionAffinity === true ? instanceOfCookie(req.headers.cookie) : undefined;
    res.once("close", () => this.#closed());
  }

  begin(): void {
    if (!this.#req.url?.startsWith("/")) return this.#answer(BAD_TARGET);
    if (!isPlainOrChunked(this.#req)) return this.#answer(BAD_CODING);
    const admission = this.#gate.tryAdmit(this.#affinity);
    if (admission !== undefined) this.#run(admission);
    else void this.#wait();
  }

  async #wait(): Promise<void> {
    const gone = new AbortController();
    const abort = () => gone.abort();
    this.#res.once("close", abort);
    const outcome = await this.#gate.admit(this.#affinity, gone.signal);
    this.#res.off("close", abort);
    if ("lease" in outcome) {
      if (this.#answered) outcome.lease.release();
      else this.#run(outcome);
    } else this.#answer(answerFor(outcome));
  }

  #run(admission: Admission): void {
    const { serving, lease } = admission;
    const { id } = lease.member.instance;
    this.#admission = admission;
    this.#tries++;
    if (this.#tries === 1 && hasBody(this.#req)) this.#body = new RelayedBody(this.#req);
    this.#timer ??= setTimeout(() => this.#timedOut(), serving.template.timeout * 1000);
    this.#exchange = new Exchange(
      {
        req: this.#req,
        res: this.#res,
        body: this.#body,
        member: lease.member,
        requestId: this.#requestId,
        remoteIp: this.#remoteIp,
        scheme: schemeAskedFor(this.#req.headers.host, this.#deps.domain),
        cookie: serving.template.sessionAffinity && this.#affinity !== id ? cookieFor(id) : undefined,
      },
      (end) => this.#exchanged(admission, end),
    );
    this.#exchange.begin();
  }

  #exchanged({ lease, serving }: Admission, end: ExchangeEnd): void {
    if (end.kind === "broken" && end.unsent) serving.pool.giveUp(lease.member);
    lease.release();
    if (this.#over) return;
    switch (end.kind) {
      case "done":
        return;
      case "refused":
        return this.#answer(BAD_HEAD);
      case "cut":
        this.#res.destroy();
        return;
      case "broken":
        if (!end.unsent || this.#answered || this.#tries >= TRIES) return this.#answer(BROKEN);
        void this.#wait();
    }
  }

  #timedOut(): void {
    // If the response has begun, aborting the exchange truncates it.
    this.#answer(TIMED_OUT);
    this.#exchange?.abort(new Error("the request passed its timeout"));
  }

  /** True if nothing can be sent to the client any more: it has a response, or is gone. */
  get #answered(): boolean {
    return this.#over || this.#res.headersSent || this.#res.destroyed;
  }

  #answer(answer: OwnAnswer): void {
    if (!this.#answered) sendOwnAnswer(this.#res, answer, this.#requestId);
  }

  /** Called when the response is complete, or the client is gone. */
  #closed(): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#timer);
    this.#status = this.#res.headersSent ? this.#res.statusCode : 499;
    if (!this.#res.writableFinished) this.#exchange?.abort(new Error("the client went away"));
    readOn(this.#req);
    this.#log();
  }

  #log(): void {
    const serving = this.#admission?.serving ?? this.#gate.serving;
    if (serving === undefined) return;
    const { headers, method = "GET", url = "/", httpVersion } = this.#req;
    this.#deps.log(
      requestEntry(serving.template, serving.revision, {
        method,
        target: url,
        host: headers.host ?? this.#gate.name,
        status: this.#status,
        responseBytes: this.#exchange?.responseBytes ?? 0,
        userAgent: headers["user-agent"],
        remoteIp: this.#remoteIp,
        protocol: `HTTP/${httpVersion}`,
        requestId: this.#requestId,
        traceparent: headers["traceparent"] as string | undefined,
        millis: performance.now() - this.#begun,
        instance: this.#admission?.lease.member.instance.id,
      }),
    );
  }
}

/** Serves a request through a service's gate. */
export const serveRequest = (deps: FrontDeps, req: IncomingMessage, res: ServerResponse, gate: Gate): void =>
  new Visit(deps, req, res, gate).begin();
