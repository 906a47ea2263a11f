/**
 * Opens 1,000 TLS connections and 1,000 HTTP connections a second, each with a new host name. Ends with 1 if it reaches
 * less than 90 % of that.
 *
 * Sends only the first message of a handshake, so that the server needs more CPU for an attempt than this process.
 * Arguments: TLS port, HTTP port, a suffix of the names, and the number of loopback addresses to connect from.
 */
import { connect } from "node:net";
import { helloOf } from "../../support/tls/tls-clients.ts";

const [tlsPort, httpPort, suffix, addresses] = process.argv.slice(2) as [string, string, string, string];
const RATE = 1000;
const TICK_MS = 10;

const nameOf = (index: number): string => `${String(index).padStart(8, "0")}.${suffix}`;
const template = await helloOf({ servername: nameOf(0), minVersion: "TLSv1.3" });
const at = template.indexOf(nameOf(0));

const helloFor = (index: number): Buffer => {
  const hello = Buffer.from(template);
  hello.write(nameOf(index), at);
  return hello;
};

const attempt = (port: string, index: number, bytes: Buffer | string): void => {
  // Addresses from 127.0.1.1, because the measured client uses 127.0.0.1.
  const localAddress = `127.0.1.${1 + (index % Number(addresses))}`;
  const socket = connect({ host: "127.0.0.1", port: Number(port), localAddress });
  socket.on("error", () => undefined);
  socket.once("data", () => socket.destroy());
  socket.write(bytes);
};

const begun = performance.now();
let sent = 0;
setInterval(() => {
  const due = ((performance.now() - begun) / 1000) * RATE;
  // After a stall, does not send more than one tick's share too many.
  for (let n = 0; sent < due && n < (2 * RATE * TICK_MS) / 1000; n++) {
    const index = sent++;
    attempt(tlsPort, index, helloFor(index));
    attempt(httpPort, index, `GET / HTTP/1.1\r\nHost: ${nameOf(index)}\r\n\r\n`);
  }
}, TICK_MS);

process.once("SIGTERM", () => {
  const reached = sent / ((performance.now() - begun) / 1000);
  process.exit(reached < 0.9 * RATE ? 1 : 0);
});
