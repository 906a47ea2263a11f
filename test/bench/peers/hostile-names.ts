/**
 * Opens 1,000 TLS connections and 1,000 HTTP connections a second, each with a new host name. Prints a line when both
 * ports have answered, and at the end the number of connections that the server answered or closed.
 *
 * Sends only the first message of a handshake, so that the server needs more CPU for an attempt than this process.
 * Arguments: TLS port, HTTP port or 0 for none, a suffix of the names, and the number of loopback addresses for TLS.
 */
import { connect } from "node:net";
import { helloOf } from "../../support/tls/tls-clients.ts";

const [tlsPort, httpPort, suffix, tlsAddresses] = process.argv.slice(2) as [string, string, string, string];
const RATE = 1000;
/** A closed connection occupies a port for a minute. With thousands of them, an address is slow to find a free port. */
const HTTP_ADDRESSES = 50;
/** After a longer stall, skips connections, so that they do not all arrive at the same time. */
const MAX_STALL_MS = 20;

const nameOf = (index: number): string => `${String(index).padStart(8, "0")}.${suffix}`;
const template = await helloOf({ servername: nameOf(0), minVersion: "TLSv1.3" });
const at = template.indexOf(nameOf(0));

const helloFor = (index: number): Buffer => {
  const hello = Buffer.from(template);
  hello.write(nameOf(index), at);
  return hello;
};

interface Flood {
  readonly port: number;
  readonly addresses: number;
  readonly first: (index: number) => Buffer | string;
  /** The time of the next connection. */
  due: number;
  sent: number;
  /** Connections that were answered or closed by the server. */
  answered: number;
}

const floodOf = (port: string, addresses: number, first: Flood["first"]): Flood => ({
  port: Number(port),
  addresses,
  first,
  due: performance.now(),
  sent: 0,
  answered: 0,
});

const floods = [
  floodOf(tlsPort, Number(tlsAddresses), helloFor),
  floodOf(httpPort, HTTP_ADDRESSES, (index) => `GET / HTTP/1.1\r\nHost: ${nameOf(index)}\r\n\r\n`),
].filter(({ port }) => port !== 0);

const attempt = (flood: Flood): void => {
  const index = flood.sent++;
  // Addresses from 127.0.1.1, because the measured client uses 127.0.0.1.
  const localAddress = `127.0.1.${1 + (index % flood.addresses)}`;
  const socket = connect({ host: "127.0.0.1", port: flood.port, localAddress });
  socket.on("error", ({ code }: NodeJS.ErrnoException) => {
    if (code === "ECONNRESET" || code === "EPIPE") flood.answered++;
  });
  socket.once("data", () => {
    flood.answered++;
    socket.destroy();
  });
  socket.write(flood.first(index));
};

const begun = performance.now();
let ready = false;
// Independent clients: the time between two connections has an exponential distribution.
setInterval(() => {
  const now = performance.now();
  if (!ready && floods.every(({ answered }) => answered > 0)) {
    ready = true;
    console.log("ready");
  }
  for (const flood of floods) {
    flood.due = Math.max(flood.due, now - MAX_STALL_MS);
    for (; flood.due <= now; flood.due -= (Math.log(1 - Math.random()) * 1000) / RATE) attempt(flood);
  }
}, 1);

process.once("SIGTERM", () => {
  const seconds = (performance.now() - begun) / 1000;
  console.log(JSON.stringify({ seconds, answered: floods.map(({ answered }) => answered) }));
  process.exit();
});
