/** Sends traffic of every kind to services, and counts its failures. */
import { Agent, get, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { credentials, Client as GrpcClient } from "@grpc/grpc-js";
import { expect, onTestFinished } from "vitest";
import WebSocket from "ws";
import { packagedSource } from "../archives/packages.ts";
import { portOf } from "../http/clients.ts";
import { chat, grpcEcho } from "../http/grpc-echo.ts";
import type { Client } from "../http/served.ts";
import { numberedLines } from "../logs/all-messages.ts";

/** Echoes bodies and WebSocket messages, streams numbered events, and logs numbered lines. */
const app = packagedSource(
  `
import { createServer } from "node:http";
import { WebSocketServer } from "ws";
const server = createServer((request, response) => {
  if (request.url !== "/events") return void request.pipe(response);
  response.writeHead(200, { "content-type": "text/event-stream" });
  let n = 0;
  const timer = setInterval(() => response.write("data: " + n++ + "\\n\\n"), 50);
  response.on("close", () => clearInterval(timer));
});
new WebSocketServer({ server }).on("connection", (socket) => socket.on("message", (data) => socket.send(String(data))));
server.listen(process.env.PORT);
let n = 0;
setInterval(() => console.log("n " + process.pid + " " + n++), 5);
`,
  "ws",
);

/** Work that repeats until `stop`, and its failures. */
export class Traffic {
  readonly failures: string[] = [];
  done = 0;
  #isOver = false;
  readonly #loops: Promise<void>[] = [];

  /** Repeats `work`, which rejects on a failure. @param pauseMs the time between two calls */
  repeat(pauseMs: number, work: () => Promise<unknown>): void {
    const loop = async () => {
      while (!this.#isOver) {
        try {
          await work();
          this.done++;
        } catch (cause) {
          this.failures.push(String(cause));
        }
        await sleep(pauseMs);
      }
    };
    this.#loops.push(loop());
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#loops);
  }
}

const agent = new Agent({ keepAlive: true, maxSockets: 10 });

const echo = (url: string, body: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", agent }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part) => {
        text += part;
      });
      response.once("error", reject);
      response.once("end", () =>
        response.statusCode === 200 && text === body
          ? resolve()
          : reject(new Error(`${response.statusCode}: ${text.slice(0, 100)}`)),
      );
    });
    sent.once("error", reject);
    sent.end(body);
  });

const BYTES = Buffer.alloc(200_000, "portside");

const store = async (url: string): Promise<void> => {
  const response = await fetch(url, { method: "PUT", body: BYTES });
  if (!response.ok) throw new Error(`an upload ended with ${response.status}`);
};

const load = async (url: string): Promise<void> => {
  const response = await fetch(url);
  const bytes = Buffer.from(await response.arrayBuffer());
  if (response.ok && bytes.equals(BYTES)) return;
  throw new Error(`a download ended with ${response.status} and ${bytes.length} bytes`);
};

/** Signed URLs are valid for 15 minutes, and long runs take longer. */
const RENEW_URL_MS = 300_000;

/** Returns a signed URL, and renews it before it expires. Keeps the old URL while no server can sign a new one. */
const renewed = (sign: () => Promise<{ url: string }>): (() => Promise<string>) => {
  let last: { readonly url: string; readonly at: number } | undefined;
  return async () => {
    if (last !== undefined && Date.now() - last.at < RENEW_URL_MS) return last.url;
    const at = Date.now();
    try {
      last = { url: (await sign()).url, at };
    } catch (cause) {
      if (last === undefined) throw cause;
    }
    return last.url;
  };
};

/** Numbers that a stream must deliver without a gap. */
class Numbers {
  next = 0;
  problem: string | undefined;
  /** When the stream ended, in milliseconds since 1970. */
  endedAt = 0;

  take(n: number): void {
    if (n !== this.next) this.problem ??= `got ${n} in place of ${this.next}`;
    this.next = n + 1;
  }

  end(why: unknown): void {
    this.endedAt ||= Date.now();
    this.problem ??= `ended: ${why}`;
  }
}

const followEvents = (url: string): Numbers => {
  const numbers = new Numbers();
  let rest = "";
  const sent = get(`${url}/events`, (response) => {
    response.setEncoding("utf8").on("data", (text: string) => {
      const events = (rest + text).split("\n\n");
      rest = events.pop() ?? "";
      for (const event of events) numbers.take(Number(event.slice("data: ".length)));
    });
    response.once("close", () => numbers.end("closed"));
  });
  sent.on("error", (cause) => numbers.end(cause));
  onTestFinished(() => void sent.destroy());
  return numbers;
};

const talk = (url: string): Numbers => {
  const numbers = new Numbers();
  const socket = new WebSocket(`ws://127.0.0.1:${portOf(url)}/`);
  const say = () => socket.send(String(numbers.next));
  socket.on("open", say);
  socket.on("message", async (data) => {
    numbers.take(Number(data));
    await sleep(20);
    if (socket.readyState === WebSocket.OPEN) say();
  });
  socket.on("close", (code) => numbers.end(code));
  socket.on("error", (cause) => numbers.end(cause));
  onTestFinished(() => socket.terminate());
  return numbers;
};

const call = (url: string): Numbers => {
  const numbers = new Numbers();
  const client = new GrpcClient(`127.0.0.1:${portOf(url)}`, credentials.createInsecure());
  const stream = chat(client);
  stream.on("data", async ({ value }: { value: number }) => {
    numbers.take(value / 2);
    await sleep(20);
    stream.write({ value: numbers.next });
  });
  stream.on("error", (cause) => numbers.end(cause));
  stream.on("end", () => numbers.end("end"));
  stream.write({ value: 0 });
  onTestFinished(() => {
    stream.on("error", () => undefined);
    stream.cancel();
    client.close();
  });
  return numbers;
};

const up = async (
  client: Client,
  name: string,
  source: Uint8Array,
  fields: Record<string, string> = {},
): Promise<string> => {
  const records = await Array.fromAsync(client.deploy(name, source, {}, fields));
  expect(records.at(-1)).toMatchObject({ status: "DONE" });
  return records.at(-1)?.url as string;
};

/** The streams, and the number of each one's next event. */
export type Streams = Readonly<Record<string, Numbers>>;

export interface TrafficTargets {
  /** Sends requests until it is stopped. */
  readonly traffic: Traffic;
  /** Opens a stream of events, a WebSocket and a gRPC call. */
  openStreams(): Streams;
  /** The numbers of the lines that each instance of the service has logged. */
  linesOf(): Promise<Map<string, number[]>>;
}

/** Deploys services, and sends requests from 12 closed loops: bodies, signed uploads and signed downloads. */
export const startTraffic = async (client: Client, env: Readonly<Record<string, string>>): Promise<TrafficTargets> => {
  const url = await up(client, "app", app, { max_instances: "1" });
  const grpc = await up(client, "grpc", grpcEcho, {
    use_http2: "true",
    max_instances: "1",
    env: JSON.stringify(env),
  });
  await client.post("/v1/volume/create", { name: "files" });
  const object = { volume: "files", path: "a.bin" };
  const upload = renewed(() => client.post("/v1/volume/upload", { ...object, size: BYTES.length }));
  await store(await upload());
  const download = renewed(() => client.post("/v1/volume/download", object));
  await download();
  const traffic = new Traffic();
  for (let worker = 0; worker < 10; worker++) {
    const body = "x".repeat(worker * 10_000);
    traffic.repeat(30, () => echo(url, body));
  }
  traffic.repeat(50, async () => store(await upload()));
  traffic.repeat(50, async () => load(await download()));
  return {
    traffic,
    openStreams: () => ({ events: followEvents(url), socket: talk(url), grpc: call(grpc) }),
    linesOf: () => numberedLines(client),
  };
};
