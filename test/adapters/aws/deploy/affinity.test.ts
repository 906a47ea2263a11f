/**
 * Redeploys of a service with session affinity under load, on fakes with every adverse behaviour. Clients return the
 * load balancer's cookies, and stay with an instance while it is healthy.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { allAdverse } from "../../../fakes/aws/adverse.ts";
import { createFakeEngine, type RunLine } from "../../../fakes/engine/engine.ts";
import { createFastClock } from "../../../support/clocks/fast-clock.ts";
import { openFakeEcs } from "../../../support/providers/ecs-platform.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** Every service responds with its name, even while it drains. */
const namingEngine = async (onLine: (line: RunLine) => void) => {
  const fake = await createFakeEngine(onLine);
  const urls = new Map<string, string>();
  const start: typeof fake.engine.start = async (revision) => {
    const server = createServer((_request, response) => response.end(revision.service));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    servers.push(server);
    urls.set(revision.service, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    return fake.engine.start(revision);
  };
  return { ...fake, engine: { ...fake.engine, start, url: async (service: string) => urls.get(service) ?? "" } };
};

/** A browser: it returns the cookies of earlier responses. */
const createClient = (url: string) => {
  const cookies = new Map<string, string>();
  const send = async () => {
    const cookie = [...cookies].map((pair) => pair.join("=")).join("; ");
    const response = await fetch(url, { headers: cookies.size === 0 ? {} : { cookie } });
    for (const set of response.headers.getSetCookie()) {
      const [name = "", value = ""] = set.split(";")[0]?.split("=") ?? [];
      cookies.set(name, value);
    }
    return { status: response.status, text: await response.text() };
  };
  return { cookies, send };
};

test("with every adverse behaviour, no request with cookies fails during redeploys, and old cookies reach the new revision", async () => {
  const run = await openFakeEcs({ adverse: allAdverse, engine: namingEngine }, createFastClock(40));
  const sticky = (timeout: number) => run.template("app", "acme", { sessionAffinity: true, timeout });
  expect(await run.endOf(sticky(30), "absent")).toMatchObject({ kind: "ready" });
  const { url } = await run.serviceOf("app");
  Object.assign(run.ecs.startMillis, { pending: 3000, unhealthy: 3000 });
  const idle = createClient(url);
  await idle.send();
  const first = run.routed("app");

  const clients = Array.from({ length: 8 }, () => ({ ...createClient(url), seen: [] as string[] }));
  const failures: unknown[] = [];
  let isOver = false;
  const load = clients.map(async ({ send, seen }) => {
    while (!isOver) {
      const { status, text } = await send();
      if (status !== 200) failures.push(status);
      else if (seen.at(-1) !== text) seen.push(text);
    }
  });
  const revisions = [first];
  for (const timeout of [31, 32]) {
    expect(await run.endOf(sticky(timeout), await run.expectedOf("app"))).toMatchObject({ kind: "ready" });
    revisions.push(run.routed("app"));
  }
  isOver = true;
  await Promise.all(load);

  expect(failures).toEqual([]);
  for (const { seen, cookies } of clients) {
    // Each client moved once from each revision to the next.
    expect(seen).toEqual(revisions);
    expect([...cookies.keys()].sort()).toEqual(["AWSALB", "AWSALBCORS", "AWSALBTG", "AWSALBTGCORS"]);
  }
  expect([...idle.cookies.keys()].sort()).toEqual(["AWSALB", "AWSALBCORS"]);
  expect(await idle.send()).toEqual({ status: 200, text: revisions.at(-1) });
  await run.close();
});
