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
  const resolve: DnsResolver["resolve"] = (name, type) => {
    asked.push(`${type} ${name}`);
    return isLimited ? errAsync(rateLimited("Too many DNS lookups.", 7)) : okAsync([`${type} ${asked.length}`]);
  };
  const dns = cacheHosts({ resolve }, [HOST], { now: () => now });
  return {
    asked,
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
  expect(await resolved(HOST, "A")).toEqual(["A 3"]);
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
