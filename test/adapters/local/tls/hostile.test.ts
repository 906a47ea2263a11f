/** Clients that invent host names, and renewals while clients send requests. */
import { Agent } from "node:https";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { startNamedIngress } from "../../../support/handover/named-ingress.ts";
import { createTestAuthority } from "../../../support/tls/test-authority.ts";
import { failedHandshake, sendTls } from "../../../support/tls/tls-clients.ts";
import { testTls } from "../../../support/tls/tls-ingress.ts";

const authority = createTestAuthority();
const HOST = "app.localhost";

test("no request fails across 50 renewals, with open and with new connections", async () => {
  const tls = testTls({ [HOST]: authority.issue(HOST) });
  await using named = await startNamedIngress("one", [], { tls: tls.config });
  const target = { port: named.ingress.tlsPort as number, ca: authority.ca };
  const stopped = new AbortController();
  let done = 0;
  const load = async (agent?: Agent) => {
    while (!stopped.signal.aborted) {
      const { status } = await sendTls(target, HOST, agent === undefined ? {} : { agent });
      expect(status).toBe(200);
      done++;
    }
  };
  const agents = Array.from({ length: 4 }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
  const loads = [...agents.map(load), load(), load()];
  for (let renewal = 0; renewal < 50; renewal++) {
    tls.certificates.set(HOST, authority.issue(HOST));
    const before = done;
    await expect.poll(() => done, { interval: 5 }).toBeGreaterThan(before + 6);
  }
  stopped.abort();
  await Promise.all(loads);
  for (const agent of agents) agent.destroy();
});

test("invented host names and damaged messages create no context, and leave no connection", async () => {
  const tls = testTls({ [HOST]: authority.issue(HOST) });
  await using named = await startNamedIngress("one", [], { tls: tls.config });
  const target = { port: named.ingress.tlsPort as number, ca: authority.ca };
  await sendTls(target, HOST);
  const names = (round: number) => [
    `a${round}.example`,
    `${"b".repeat(63)}.${round}`,
    `A${round}.LOCALHOST.`,
    "..",
    "x y",
  ];
  for (let round = 0; round < 100; round++) {
    const alerts = await Promise.all(names(round).map((name) => failedHandshake(target, name)));
    for (const alert of alerts) expect(alert).toMatch(/unrecognized name|decode error|unsupported|alert/i);
  }
  const damaged = Array.from({ length: 50 }, (_, index) => {
    const socket = connect({ host: "127.0.0.1", port: target.port });
    socket.end(Buffer.from([22, 3, 1, 0, 200, 1, 0, 0, 190, index]));
    socket.resume();
    return new Promise((closed) => socket.once("close", closed));
  });
  await Promise.all(damaged);
  expect((await sendTls(target, HOST)).status).toBe(200);
  expect(tls.contexts()).toBe(1);
});
