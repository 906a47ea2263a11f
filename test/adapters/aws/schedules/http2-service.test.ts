/**
 * A schedule of an HTTP/2 service fires on fakes with every adverse behaviour: the load balancer answers HTTP/1.1 with
 * 464, and HTTP/2 needs TLS.
 */
import { once } from "node:events";
import { connect, type OutgoingHttpHeaders } from "node:http2";
import { request } from "node:https";
import { text } from "node:stream/consumers";
import { setDefaultCACertificates } from "node:tls";
import { expect, test } from "vitest";
import { awsWith } from "../../../clouds/aws.ts";
import { openCloud } from "../../../clouds/cloud.ts";
import { runtimeDeps } from "../../../clouds/subject.ts";
import { allAdverse } from "../../../fakes/aws/adverse.ts";
import { certificate } from "../../../fakes/aws/elbv2/certificate.ts";
import { nodeSource } from "../../../support/archives/archives.ts";
import { createFastClock } from "../../../support/clocks/fast-clock.ts";
import { recordsOf, serveApi } from "../../../support/http/api.ts";
import { eventually } from "../../../support/vitest/eventually.ts";

/** Records requests to `/cron`, and returns the recorded requests to any other path. */
const source = nodeSource(`
import { createServer } from "node:http2";
const fires = [];
createServer().on("stream", (stream, headers) => {
  if (headers[":path"] !== "/cron") return stream.end(JSON.stringify(fires));
  const isOwn = headers["x-cron-token"] === process.env.CRON_TOKEN;
  fires.push({ method: headers[":method"], isOwn, time: headers["x-cron-time"] });
  stream.respond({ ":status": 204 }, { endStream: true });
}).listen(process.env.PORT);
`);

const overHttp2 = async (url: string, headers: OutgoingHttpHeaders): Promise<string> => {
  const session = connect(url);
  const answer = await text(session.request(headers));
  session.close();
  return answer;
};

const statusOverHttp1 = async (url: string): Promise<unknown> => {
  const sent = request(`${url}/cron`, { method: "POST" }).end();
  const [response] = await once(sent, "response");
  response.resume();
  return response.statusCode;
};

test("the schedule of an HTTP/2 service fires", async () => {
  setDefaultCACertificates([certificate]);
  const adverse = awsWith(allAdverse, { scheme: "https" });
  const cloud = await openCloud(adverse, "real", { ...runtimeDeps(), clock: createFastClock(20) });
  const api = await serveApi(cloud.ports);
  const fields = { function_name: "app", volumes: "{}", use_http2: "true", schedule: "* * * * *" };
  const done = recordsOf(await api.deploy(fields, source)).at(-1);
  expect(done).toMatchObject({ status: "DONE", url: expect.stringMatching(/^https:/) });
  const fires = async (): Promise<readonly object[]> => JSON.parse(await overHttp2(done.url, { ":path": "/fires" }));

  // The load balancer does not forward HTTP/1.1 requests.
  const before = await fires();
  expect(await statusOverHttp1(done.url)).toBe(464);
  await eventually(async () => expect((await fires()).length).toBeGreaterThan(before.length));
  for (const fire of await fires())
    expect(fire).toEqual({ method: "POST", isOwn: true, time: expect.stringMatching(/:00Z$/) });

  const logs = async () => (await api.call("POST", "/v1/deployment/logs", { json: { deployment_name: "app" } })).text;
  await eventually(async () => expect(await logs()).toContain("fired: status 204"));
  await api[Symbol.asyncDispose]();
  await cloud.close();
});
