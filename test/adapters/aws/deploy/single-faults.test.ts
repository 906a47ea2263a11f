/** Injects a fault at each call of a rollout or a removal on ECS. */
import { expect } from "vitest";
import { rolloutFaultTests } from "../../../clouds/rollouts/single-faults.ts";
import { ecsRollouts, type FakeEcsPlatform } from "../../../support/providers/ecs-platform.ts";

type Tags = readonly { readonly Key: string; readonly Value: string }[] | undefined;

const serviceIn = (tags: Tags): string | undefined => tags?.find(({ Key }) => Key === "portside-service")?.Value;

/** Asserts that AWS contains only the serving revision's resources. */
const nothingElse = (run: FakeEcsPlatform, name: string, what: string): void => {
  const serving = run.routed(name);
  const services = run.ecs.services().map(({ serviceName }) => serviceName);
  const left = serving === undefined ? [] : [serving];
  expect(
    services.filter((one) => one.startsWith(`${name}-`)),
    what,
  ).toEqual(left);
  for (const made of [run.balancer.groups(), run.balancer.rules()])
    expect(
      made.filter(({ Tags: tags }) => serviceIn(tags) === name),
      what,
    ).toHaveLength(left.length);
  const definitions = run.ecs.definitions().filter(({ family }) => family.includes(`-${name}-`));
  expect(definitions.length > 0, what).toBe(serving !== undefined);
};

rolloutFaultTests(ecsRollouts, {
  finder: "state",
  calls: { deploy: 19, removal: 10 },
  every: 9,
  nothingElse,
});
