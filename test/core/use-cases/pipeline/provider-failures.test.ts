/**
 * A provider that fails at any call of a deploy, before it acts or after. The deploy still ends with one last record
 * and a reason, its source is discarded, and the name can be deployed again.
 */
import { describe, expect, test } from "vitest";
import { type Fault, faulty, type PortCall } from "../../../../adapters/memory/index.ts";
import { unavailable } from "../../../../core/errors.ts";
import type { Logger } from "../../../../core/ports/system.ts";
import { whileTicking } from "../../../simulation/ticking.ts";
import {
  deployed,
  listed,
  type MemoryPlatform,
  recorder,
  recordsOf,
  startMemory,
} from "../../../support/providers/memory-platform.ts";

type PortName = "services" | "builder" | "logs";

interface FaultPoint {
  readonly port: PortName;
  readonly method: string;
  /** The number of the call among the calls of the method, from 1. */
  readonly count: number;
}

/** Every port call of a first deploy, found by recording one. */
const callsOfADeploy = async (): Promise<FaultPoint[]> => {
  const points: FaultPoint[] = [];
  const noted =
    (port: PortName) =>
    ({ method, count }: PortCall) =>
      void points.push({ port, method, count });
  const platform = startMemory({
    around: ({ services, builder, logs }) => ({
      services: faulty(services, noted("services")),
      builder: faulty(builder, noted("builder")),
      logs: faulty(logs, noted("logs")),
    }),
  });
  await deployed(platform);
  return points;
};

const points = await callsOfADeploy();
const cases = points.flatMap((place) => [false, true].map((after) => ({ ...place, after })));

const faultAt = (where: FaultPoint & { after: boolean }): Fault =>
  ["build", "rollout"].includes(where.method)
    ? { failure: { reason: "provider_unavailable", message: "The provider is down." }, after: where.after }
    : { error: unavailable("The provider is down."), after: where.after };

const breaking = (where: FaultPoint & { after: boolean }, logger: Logger): MemoryPlatform =>
  startMemory({
    logger,
    around: (provider) => ({
      [where.port]: faulty(provider[where.port], ({ method, count }) =>
        method === where.method && count === where.count ? faultAt(where) : undefined,
      ),
    }),
  });

test("covers every port call of a deploy", () => {
  expect(points).toEqual([
    { port: "services", method: "find", count: 1 },
    { port: "services", method: "list", count: 1 },
    { port: "services", method: "noteDeploy", count: 1 },
    { port: "logs", method: "append", count: 1 },
    { port: "services", method: "find", count: 2 },
    { port: "services", method: "list", count: 2 },
    { port: "builder", method: "build", count: 1 },
    { port: "services", method: "rollout", count: 1 },
    { port: "logs", method: "append", count: 2 },
    { port: "services", method: "noteDeploy", count: 2 },
  ]);
});

describe.each(cases)("$port.$method, call $count, response lost: $after", (where) => {
  const before = ["find", "list"].includes(where.method) && where.count === 1;
  const tolerated = ["noteDeploy", "append"].includes(where.method);

  test("the client gets a message and a reason", async () => {
    const { logger, logged } = recorder();
    const platform = breaking(where, logger);
    const run = await whileTicking(platform.clock, platform.submit());
    if (before) {
      expect(run._unsafeUnwrapErr()).toMatchObject({ kind: "unavailable", retryAfterSeconds: 5 });
    } else {
      const records = await recordsOf(platform, run._unsafeUnwrap());
      const finals = records.filter(({ status }) => status === "DONE" || status === "ERROR");
      expect(finals).toEqual([records.at(-1)]);
      // Recording the outcome must not fail the deploy.
      if (tolerated) expect(records.at(-1)?.status).toBe("DONE");
      else expect(records.at(-1)).toMatchObject({ status: "ERROR", reason: "provider_unavailable" });
      expect(logged.length).toBe(tolerated ? 1 : 0);
    }
    expect(platform.kept.size).toBe(0);
  });

  test("the name can be deployed afterwards", async () => {
    const platform = breaking(where, recorder().logger);
    const run = await platform.submit();
    if (run.isOk()) await recordsOf(platform, run.value);
    const records = await deployed(platform);
    expect(records.at(-1)?.status).toBe("DONE");
    expect(await listed(platform)).toMatchObject([
      { status: "READY", last_deploy: { deploy_id: records[0]?.deploy_id } },
    ]);
  });
});
