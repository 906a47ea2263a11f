/**
 * The function speaks HTTP/2 over HTTPS: the load balancer answers an HTTP/1.1 request to an HTTP/2 service with 464,
 * and accepts HTTP/2 for every service.
 * https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-target-groups.html
 */
import { once } from "node:events";
import { connect, constants, createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import type { Fire } from "../../../../adapters/aws/schedules/job.ts";
import { invokeCron } from "../../../fakes/aws/scheduler/function.ts";
import { createLeapingClock } from "../../../support/clocks/leaping-clock.ts";

const fire: Fire = {
  portside: 1,
  url: "https://app.apps.example.com",
  token: "a-token",
  time: "2026-01-01T00:00:00Z",
  cron: "0 0 * * *",
  zone: "UTC",
  seconds: 1,
  delays: [],
  gap: 86_400,
  log: { group: "logs", stream: "stream" },
};

/** Invokes the function once, with an HTTP/2 service without TLS. */
const fired = async (serve: (stream: ServerHttp2Stream) => void) => {
  const seen: IncomingHttpHeaders[] = [];
  const entries: { readonly severity: string; readonly json: { readonly message: string } }[] = [];
  const server = createServer().on("stream", (stream, headers) => {
    seen.push(headers);
    stream.on("error", () => undefined);
    serve(stream);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const send = async ({ input }: { readonly input: { readonly logEvents: readonly [{ readonly message: string }] } }) =>
    entries.push(JSON.parse(input.logEvents[0].message));
  const world = {
    clock: createLeapingClock(fire.time),
    logs: { send },
    http2: { connect: () => connect(`http://127.0.0.1:${port}`) },
  };
  const result = await invokeCron(world, fire);
  server.close();
  return { seen, entries, result };
};

test("sends POST /cron with the token and the scheduled time", async () => {
  const { seen, entries, result } = await fired((stream) => stream.respond({ ":status": 204 }, { endStream: true }));
  expect(seen).toMatchObject([
    {
      ":method": "POST",
      ":path": "/cron",
      "content-length": "0",
      "x-cron-token": "a-token",
      "x-cron-time": "2026-01-01T00:00:00Z",
      "user-agent": "portside-cron",
    },
  ]);
  expect(result).toEqual({ fired: true, status: 204 });
  expect(entries).toMatchObject([{ severity: "INFO" }]);
});

test("waits for the whole body", async () => {
  const { result } = await fired((stream) => {
    stream.respond({ ":status": 200 });
    stream.write("a".repeat(100_000));
    setTimeout(() => stream.end("b"), 50);
  });
  expect(result).toEqual({ fired: true, status: 200 });
});

test.each<[string, (stream: ServerHttp2Stream) => void]>([
  ["cancels the request", (stream) => stream.close(constants.NGHTTP2_CANCEL)],
  ["resets the request", (stream) => stream.close(constants.NGHTTP2_INTERNAL_ERROR)],
  ["hangs up", (stream) => stream.session?.destroy()],
  ["never responds", () => undefined],
])("gives up on a service that %s", async (_, serve) => {
  const { entries, result } = await fired(serve);
  expect(result).toEqual({ fired: true, status: undefined });
  expect(entries).toMatchObject([
    { severity: "ERROR", json: { message: expect.stringMatching(/no response after \d+ ms; no more retries/) } },
  ]);
});
