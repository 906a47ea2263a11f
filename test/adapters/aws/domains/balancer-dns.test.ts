/** The cache of the load balancers' addresses. */
import { expect, test } from "vitest";
import { cacheHosts } from "../../../../adapters/aws/domains/balancer-dns.ts";
import { type Instant, instantOfSeconds } from "../../../../core/domain/wire/instant.ts";
import { rateLimited } from "../../../../core/errors.ts";
import type { DnsResolver } from "../../../../core/ports/domain-store.ts";
import { errAsync, okAsync } from "../../../../core/result.ts";

const HOST = "balancer.example.net";

const start = () => {
  const asked: string[] = [];
  let now: Instant = instantOfSeconds(0);
  let isLimited = false;
  let respond = (type: string): readonly string[] => [`${type} ${asked.length}`];
  const resolve: DnsResolver["resolve"] = (name, type) => {
    asked.push(`${type} ${name}`);
    return isLimited ? errAsync(rateLimited("Too many DNS lookups.", 7)) : okAsync(respond(type));
  };
  const dns = cacheHosts({ resolve }, [HOST], { now: () => now });
  return {
    asked,
    setResponses: (responses: typeof respond) => {
      respond = responses;
    },
    resolved: async (name: string, type: "A" | "AAAA") => (await dns.resolve(name, type))._unsafeUnwrap(),
    failure: async (name: string) => (await dns.resolve(name, "A"))._unsafeUnwrapErr(),
    setTime: (seconds: number) => {
      now = instantOfSeconds(seconds);
    },
    limit: (isOn: boolean) => {
      isLimited = isOn;
    },
  };
};

test("the addresses of a load balancer are read again after 5 seconds, separately by type", async () => {
  const { asked, resolved, setTime } = start();
  expect(await resolved(HOST, "A")).toEqual(["A 1"]);
  expect(await resolved(HOST, "AAAA")).toEqual(["AAAA 2"]);
  setTime(4);
  expect(await resolved(HOST, "A")).toEqual(["A 1"]);
  expect(await resolved(HOST, "AAAA")).toEqual(["AAAA 2"]);
  setTime(5);
  expect(await resolved(HOST, "A")).toEqual(["A 1", "A 3"]);
  expect(asked).toHaveLength(3);
});

test("the records of other names are not cached", async () => {
  const { resolved } = start();
  expect(await resolved("app.example.com", "A")).toEqual(["A 1"]);
  expect(await resolved("app.example.com", "A")).toEqual(["A 2"]);
});

test("a failure is not cached", async () => {
  const { resolved, failure, limit } = start();
  limit(true);
  expect(await failure(HOST)).toMatchObject({ kind: "unavailable", message: "Too many DNS lookups." });
  expect(await failure("app.example.com")).toMatchObject({ kind: "rate_limited", retryAfterSeconds: 7 });
  limit(false);
  expect(await resolved(HOST, "A")).toEqual(["A 3"]);
});

/** Returns responses with 8 of the addresses each, a different selection each time. */
const selections = (count: number, prefix = "192.0.2.") => {
  let next = 0;
  return () => Array.from({ length: 8 }, () => `${prefix}${next++ % count}`);
};

test("all addresses of a load balancer are known, although each response contains only 8 of them", async () => {
  const { asked, resolved, setResponses, setTime } = start();
  setResponses(selections(20));
  const all = Array.from({ length: 20 }, (_, n) => `192.0.2.${n}`);
  expect((await resolved(HOST, "A")).toSorted()).toEqual(all.toSorted());
  expect(asked.length).toBeLessThan(10);
  setTime(5);
  const before = asked.length;
  expect(await resolved(HOST, "A")).toHaveLength(20);
  expect(asked.length - before).toBe(3);
});

test("the number of lookups is limited", async () => {
  const { asked, resolved, setResponses } = start();
  setResponses(selections(10_000));
  expect(await resolved(HOST, "A")).toHaveLength(160);
  expect(asked).toHaveLength(20);
});

test("an address counts for 10 minutes after its last response", async () => {
  const { resolved, setResponses, setTime } = start();
  setResponses(() => ["192.0.2.1", "192.0.2.2"]);
  expect(await resolved(HOST, "A")).toEqual(["192.0.2.1", "192.0.2.2"]);
  setResponses(() => ["192.0.2.2"]);
  setTime(599);
  expect(await resolved(HOST, "A")).toEqual(["192.0.2.1", "192.0.2.2"]);
  setTime(604);
  expect(await resolved(HOST, "A")).toEqual(["192.0.2.2"]);
});

test("a failure after the first response ends the collection", async () => {
  const { resolved, setResponses, limit } = start();
  const select = selections(20);
  setResponses(() => {
    limit(true);
    return select();
  });
  expect(await resolved(HOST, "A")).toHaveLength(8);
});
