/**
 * Makes full TLS handshakes, closes each connection after its handshake, and prints the number of handshakes. Arguments:
 * port of 127.0.0.1, host name, seconds, and the number of simultaneous connections.
 */
import { connect } from "node:tls";

const [port, servername, seconds, connections] = process.argv.slice(2) as [string, string, string, string];
const end = performance.now() + Number(seconds) * 1000;
let handshakes = 0;

const next = (): void => {
  if (performance.now() > end) return;
  const options = { host: "127.0.0.1", port: Number(port), servername, ALPNProtocols: ["http/1.1"] };
  const socket = connect({ ...options, rejectUnauthorized: false }, () => {
    handshakes++;
    socket.destroy();
  });
  socket.once("close", next);
};

for (let n = 0; n < Number(connections); n++) next();
process.once("exit", () => console.log(handshakes));
