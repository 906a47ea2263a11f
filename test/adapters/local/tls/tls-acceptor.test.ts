/** Session tickets, which let a client skip most of a handshake. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { TlsAcceptor } from "../../../../adapters/local/tls/tls-acceptor.ts";
import { silentLogger } from "../../../support/logs/silent-logger.ts";
import { createTestAuthority } from "../../../support/tls/test-authority.ts";
import { handshake } from "../../../support/tls/tls-clients.ts";

const HOST = "app.localhost";

test.each(["TLSv1.2", "TLSv1.3"] as const)("a session ticket of %s expires when the keys change", async (version) => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const authority = createTestAuthority();
  const certificate = authority.issue(HOST);
  const acceptor = new TlsAcceptor(
    {
      certificates: { find: () => certificate, fallback: undefined },
      challengeOf: () => undefined,
      connections: { admit: () => () => undefined },
      hasService: () => true,
      speaksHttp2: () => false,
      logger: silentLogger,
    },
    (socket) => void socket.end("x"),
  );
  const server = createServer((socket) => acceptor.accept(socket)).listen(0, "127.0.0.1");
  onTestFinished(() => {
    server.close();
    acceptor.close();
  });
  await once(server, "listening");
  const target = { port: (server.address() as AddressInfo).port, ca: authority.ca };
  const connectAgain = async (session?: Buffer) => {
    const socket = await handshake(target, HOST, {
      maxVersion: version,
      ...(session === undefined ? {} : { session }),
    });
    const isReused = socket.isSessionReused();
    let latest = socket.getSession();
    socket.on("session", (received) => {
      latest = received;
    });
    socket.resume();
    await once(socket, "close");
    return { isReused, session: latest as Buffer };
  };
  const first = await connectAgain();
  const second = await connectAgain(first.session);
  expect([first.isReused, second.isReused]).toEqual([false, true]);
  vi.advanceTimersByTime(12 * 3_600_000);
  expect((await connectAgain(second.session)).isReused).toBe(false);
});
