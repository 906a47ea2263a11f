/** The timeout of idle HTTP/2 sessions. */
import { once } from "node:events";
import { connect, type ServerHttp2Stream } from "node:http2";
import { expect, onTestFinished, test } from "vitest";
import { Listener } from "../../../../adapters/local/ingress/listener.ts";

const KEEP_ALIVE_MS = 50;

const start = async () => {
  const streams: ServerHttp2Stream[] = [];
  const ignore = () => undefined;
  const handlers = {
    request: ignore,
    upgrade: ignore,
    mayContinue: () => false,
    mayUpgrade: () => false,
    stream: (stream: ServerHttp2Stream) => {
      stream.respond({ ":status": 200 });
      streams.push(stream);
    },
  };
  const listener = await Listener.open("127.0.0.1", 0, handlers, { keepAliveMs: KEEP_ALIVE_MS });
  onTestFinished(() => listener.close());
  const session = connect(`http://127.0.0.1:${listener.port}`);
  onTestFinished(() => session.destroy());
  return { session, streams, closed: once(session, "close") };
};

test("closes a session without requests", async () => {
  const { closed } = await start();
  await closed;
});

test("closes a session after its last stream, and not before", async () => {
  const { session, streams, closed } = await start();
  const response = session.request({ ":path": "/" });
  await once(response, "response");
  await new Promise((resolve) => setTimeout(resolve, 5 * KEEP_ALIVE_MS));
  expect(session.destroyed).toBe(false);
  streams[0]?.end("over");
  expect((await response.toArray()).join("")).toBe("over");
  await closed;
});
