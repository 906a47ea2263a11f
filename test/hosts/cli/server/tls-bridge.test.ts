/**
 * The bridge for decrypted connections, with servers that accept a connection, and with one that ends before it
 * accepts.
 */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { listenForDecrypted, passDecrypted } from "../../../../hosts/cli/server/tls-bridge.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { createTestAuthority } from "../../../support/tls/test-authority.ts";
import { sendTls } from "../../../support/tls/tls-clients.ts";

const HOST = "apps.portside.test";

const response = (status: string, body: string): string =>
  `HTTP/1.1 ${status}\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`;

/** Starts a TLS port that passes connections, and responds with 503 and the first line of a lost request. */
const startPort = async (engineSocket: string) => {
  const authority = createTestAuthority();
  const { chain: cert, privateKey: key } = authority.issue(HOST);
  const port = createTlsServer({ cert, key }, (socket) => {
    const onLost = () => {
      const [line] = String(socket.read()).split("\r\n");
      socket.end(response("503 Service Unavailable", line as string));
    };
    socket.once("readable", () => passDecrypted(socket, { engineSocket, endsSoon: false, onLost }));
  });
  await once(port.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void port.close());
  return { port: (port.address() as AddressInfo).port, ca: authority.ca };
};

test("the server receives the bytes and the address of the client", async () => {
  using folder = folderWith();
  const engineSocket = join(folder.path, "engine.sock");
  const server = await listenForDecrypted(engineSocket, (socket) =>
    socket.once("data", (data) => socket.end(response("200 OK", `${socket.remoteAddress} ${data}`))),
  );
  onTestFinished(() => void server.close());
  const { status, text } = await sendTls(await startPort(engineSocket), HOST, { path: "/a" });
  expect([status, text.slice(0, text.indexOf("\r\n"))]).toEqual([200, "127.0.0.1 GET /a HTTP/1.1"]);
});

test("a connection whose server ends before it accepts is lost with all its bytes", async () => {
  using folder = folderWith();
  // Like the listening socket of a process that is being killed.
  const dying = createServer((socket) => socket.destroy()).listen(join(folder.path, "tls.sock"));
  await once(dying, "listening");
  onTestFinished(() => void dying.close());
  const { status, text } = await sendTls(await startPort(join(folder.path, "engine.sock")), HOST, { path: "/a" });
  expect([status, text]).toEqual([503, "GET /a HTTP/1.1"]);
});
