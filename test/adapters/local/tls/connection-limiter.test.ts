/** How many TLS connections a client may open. */
import { expect, test } from "vitest";
import { ConnectionLimiter, clientOf } from "../../../../adapters/local/tls/connection-limiter.ts";
import { recordingLogger } from "../../../support/logs/silent-logger.ts";

const limiterWith = (perSecond: number) => {
  const { logger, logged } = recordingLogger();
  const clock = { now: 0 };
  const limiter = new ConnectionLimiter({ perSecond, logger, now: () => clock.now });
  return { limiter, clock, logged };
};

/** Opens connections whose handshakes end immediately, and returns how many were admitted. */
const admitted = (limiter: ConnectionLimiter, address: string, count: number): number => {
  const ends = Array.from({ length: count }, () => {
    const end = limiter.admit(address);
    end?.();
    return end;
  });
  return ends.filter((end) => end !== undefined).length;
};

test.each([
  ["192.0.2.1", "192.0.2.1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
  ["2001:db8:1:2::6", "2001:db8:1:2"],
  ["2001:db8::6", "2001:db8:0:0"],
  ["2001:db8::1:2:3:4:5", "2001:db8:0:1"],
  ["::1", "0:0:0:0"],
])("the address %s belongs to the client %s", (address, client) => {
  expect(clientOf(address)).toBe(client);
});

test("admits a burst of two seconds, and then the rate", () => {
  const { limiter, clock } = limiterWith(10);
  expect(admitted(limiter, "192.0.2.1", 100)).toBe(20);
  clock.now += 500;
  expect(admitted(limiter, "192.0.2.1", 100)).toBe(5);
  clock.now += 3_600_000;
  expect(admitted(limiter, "192.0.2.1", 100)).toBe(20);
});

test("counts the addresses of one IPv6 network together, and other clients separately", () => {
  const { limiter } = limiterWith(10);
  expect(admitted(limiter, "2001:db8:1:2::1", 15)).toBe(15);
  expect(admitted(limiter, "2001:db8:1:2:ffff::1", 15)).toBe(5);
  expect(admitted(limiter, "2001:db8:1:3::1", 15)).toBe(15);
  expect(admitted(limiter, "192.0.2.1", 15)).toBe(15);
});

test("limits the unfinished handshakes of a client, and counts each end once", () => {
  const { limiter, clock } = limiterWith(10);
  const ends = Array.from({ length: 20 }, () => limiter.admit("192.0.2.1"));
  clock.now += 60_000;
  expect(limiter.admit("192.0.2.1")).toBeUndefined();
  ends[0]?.();
  ends[0]?.();
  expect(limiter.admit("192.0.2.1")).toBeDefined();
  expect(limiter.admit("192.0.2.1")).toBeUndefined();
});

test("has no limit if the setting is 0", () => {
  const { limiter } = limiterWith(0);
  expect(admitted(limiter, "192.0.2.1", 1000)).toBe(1000);
  expect(limiter.size).toBe(0);
});

test("remembers at most 10,000 clients", () => {
  const { limiter } = limiterWith(10);
  for (let index = 0; index < 20_000; index++) admitted(limiter, `2001:db8:${index.toString(16)}::1`, 1);
  expect(limiter.size).toBe(10_000);
});

test("reports refused connections at most once a minute", () => {
  const { limiter, clock, logged } = limiterWith(1);
  admitted(limiter, "192.0.2.1", 10);
  admitted(limiter, "192.0.2.2", 10);
  expect(logged).toHaveLength(1);
  expect(logged[0]).toContain("raise --tls-connections-per-second");
  clock.now += 60_000;
  admitted(limiter, "192.0.2.1", 10);
  expect(logged).toHaveLength(2);
});
