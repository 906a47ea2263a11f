/**
 * Simultaneous redeploys through the API, on fakes with every adverse behaviour and with AWS's documented rates. Calls
 * wait instead of exceeding a rate, and all redeploys end with DONE. The virtual clock stands still during calls.
 */
import { expect, test } from "vitest";
import { createAwsProvider } from "../../../../adapters/aws/index.ts";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { awsWith } from "../../../clouds/aws.ts";
import { clearFaults, openCloud } from "../../../clouds/cloud.ts";
import { runtimeDeps } from "../../../clouds/subject.ts";
import { allAdverse } from "../../../fakes/aws/adverse.ts";
import { balancerBuckets } from "../../../fakes/aws/call-rates.ts";
import { nodeSource } from "../../../support/archives/archives.ts";
import { countCalls, whileTickingQuietly } from "../../../support/clocks/quiet-ticking.ts";
import { recordsOf, serveApi } from "../../../support/http/api.ts";

/** `npm run soak` sets the variable. */
const DEPLOYMENTS = process.env["PORTSIDE_ADVERSE"] === "all" ? 100 : 10;
/**
 * The number of simultaneous first deploys. Must divide 50, because they choose the same load balancer, which has room
 * for 50 deployments.
 */
const BATCH = 10;

const LIMITS = { deployments: 1000, buildsAtOnce: 100, uploadsAtOnce: 100, requestsPerMinute: 1_000_000 };

const [, , writes] = balancerBuckets;

test("simultaneous redeploys end with DONE, and stay below AWS's rates", async () => {
  const clock = createManualClock();
  const calls = countCalls();
  const aws = awsWith(allAdverse, { balancers: Math.ceil(DEPLOYMENTS / 50) });
  const watched: typeof aws = {
    ...aws,
    provide: (fakes, dataDir, deps) => {
      const config = fakes.config(dataDir);
      for (const client of Object.values(config.clients ?? {})) calls.watch(client);
      return createAwsProvider(config, deps);
    },
  };
  const ticking = <T>(work: PromiseLike<T>): Promise<T> => whileTickingQuietly(clock, work, calls.areInFlight);
  const { ports, fakes, close } = await ticking(openCloud(watched, "simulated", { ...runtimeDeps(), clock }));
  const api = await serveApi(ports, { accountLimits: LIMITS });
  const source = nodeSource("");
  const deploy = async (name: string, timeout: string): Promise<string> => {
    const { status, reason } = recordsOf(await api.deploy({ function_name: name, volumes: "{}", timeout }, source)).at(
      -1,
    );
    return reason === undefined ? status : `${status}: ${reason}`;
  };
  const deployAll = (all: readonly string[], timeout: string): Promise<string[]> =>
    ticking(Promise.all(all.map((name) => deploy(name, timeout))));

  const names = Array.from({ length: DEPLOYMENTS }, (_, index) => `app-${index}`);
  for (let from = 0; from < DEPLOYMENTS; from += BATCH)
    expect(new Set(await deployAll(names.slice(from, from + BATCH), "30"))).toEqual(new Set(["DONE"]));
  clearFaults(fakes);
  expect(new Set(await deployAll(names, "31"))).toEqual(new Set(["DONE"]));

  // Without a wait, the load balancer would have refused some of the writes.
  expect(fakes.faults.balancer.log.filter((call) => writes?.actions.test(call)).length).toBeGreaterThan(
    (writes?.capacity ?? 0) + DEPLOYMENTS,
  );
  expect(fakes.throttled()).toEqual([]);
  const listed = (await ticking(api.call("GET", "/v1/deployment/list"))).json;
  expect(listed.map(({ name }: { name: string }) => name).sort()).toEqual([...names].sort());
  for (const { status, timeout } of listed) expect({ status, timeout }).toEqual({ status: "READY", timeout: 31 });
  await ticking(api[Symbol.asyncDispose]());
  await ticking(close());
}, 600_000);
