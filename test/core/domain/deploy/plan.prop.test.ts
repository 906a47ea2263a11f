/**
 * A plan is complete: the deployed values are the declared ones, changed only by the adjustments that the plan
 * announces. A second deploy of the same declaration changes nothing.
 */
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseService, renderService } from "../../../../adapters/shared/deploy/service-document.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { type DeployDeclaration, declareDeploy } from "../../../../core/domain/deploy/declaration.ts";
import { deploymentOf } from "../../../../core/domain/deploy/deployment.ts";
import { deployFields } from "../../../../core/domain/deploy/fields.ts";
import { type DeployPlan, describePlan, planDeploy } from "../../../../core/domain/deploy/plan.ts";
import { parseMemory } from "../../../../core/domain/deploy/resources.ts";
import type { ServiceSpec, ServiceTemplate } from "../../../../core/domain/deploy/service-template.ts";
import {
  cloudRunLikeCatalogue,
  deployRequest,
  environment,
  fargateLikeCatalogue,
  resourceCatalogue,
  volumeName,
} from "../../../arbitraries/index.ts";
import { declarationOf, serviceOf, templateOf, volumeNamed } from "../../../support/logs/services.ts";
import { capabilitiesWith } from "../../../support/providers/capabilities.ts";
import { runs } from "../../../support/vitest/runs.ts";

const acme = "acme" as AccountId;

/** Any catalogue that has at least the default size. */
const catalogue = fc.oneof(
  fc.constantFrom(cloudRunLikeCatalogue, fargateLikeCatalogue),
  resourceCatalogue().filter((sizes) => sizes.some(({ memory }) => memory.max >= 2 ** 30 && memory.min <= 2 ** 33)),
);

const declared = catalogue.chain((sizes) =>
  fc.record({
    capabilities: fc.constant(capabilitiesWith(sizes)),
    declaration: deployRequest(sizes).map(
      // The message belongs to the release, not to the service.
      ({ declares: { message: _message, ...declares } }): DeployDeclaration => ({
        ...declares,
        source: { kind: "archive" },
      }),
    ),
  }),
);

const throughTheDocument = (plan: DeployPlan): ServiceTemplate =>
  parseService(JSON.parse(JSON.stringify(renderService(templateOf(plan.spec))))) as ServiceTemplate;

const numberIn = (field: string, text: string) => (field === "memory" ? parseMemory(text) : Number(text));

/** The declaration with the announced adjustments applied by hand, parsed from their messages. */
const adjusted = (declaration: DeployDeclaration, plan: DeployPlan): DeployDeclaration => ({
  ...declaration,
  ...Object.fromEntries(plan.adjustments.map(({ field, to }) => [field, numberIn(field, to)])),
});

test("rendered and parsed, the plan's template is the declaration with exactly the announced adjustments", () => {
  fc.assert(
    fc.property(declared, ({ declaration, capabilities }) => {
      const plan = planDeploy(acme, declaration, null, capabilities, []);
      for (const { field, from } of plan.adjustments)
        expect(numberIn(field, from)).toBe(declaration[field as "cpu" | "memory" | "concurrency"]);
      const { writtenName, minInstances, health, idle, ...expected } = adjusted(declaration, plan);
      expect(declarationOf(throughTheDocument(plan))).toEqual({
        env: {},
        ...expected,
        // A template omits fields that have the platform's default.
        ...(minInstances ? { minInstances } : {}),
        ...(health ? { health } : {}),
        ...(idle ? { idle } : {}),
        writtenName: declaration.name,
      });
    }),
    runs(500),
  );
});

test("a plan for its own result announces nothing and changes nothing", () => {
  fc.assert(
    fc.property(declared, fc.boolean(), ({ declaration, capabilities }, keepEnv) => {
      const first = planDeploy(acme, declaration, null, capabilities, []);
      const template = throughTheDocument(first);
      const { env, ...rest } = declarationOf(template);
      const again = planDeploy(
        acme,
        keepEnv || env === undefined ? rest : { ...rest, env },
        serviceOf(template),
        capabilities,
        first.volumesToCreate.map(volumeNamed),
      );
      expect(again).toMatchObject({ adjustments: [], changes: [], volumesToCreate: [], volumesDetached: [] });
      expect(again.spec).toEqual(first.spec);
      expect(again.cronToken).toBe(template.cronToken);
      expect(again.volumes.every(({ id }) => id !== null)).toBe(true);
      expect(again.schedule).toBe(declaration.schedule === null ? "none" : "put");
    }),
    runs(500),
  );
});

test("the fields of a listed deployment declare that deployment again", () => {
  fc.assert(
    fc.property(declared, ({ declaration, capabilities }) => {
      const service = serviceOf(throughTheDocument(planDeploy(acme, declaration, null, capabilities, [])));
      const shown = Object.entries(JSON.parse(JSON.stringify(deploymentOf(service))));
      // The list shows only the names of an environment.
      const fields = Object.fromEntries(shown.filter(([name]) => name in deployFields && name !== "env"));
      const read = declareDeploy(fields, { capabilities, archive: { issues: [] } })._unsafeUnwrap();
      const plan = planDeploy(acme, read, service, capabilities, []);
      expect(plan.changes).toEqual([]);
      expect(plan.adjustments).toEqual([]);
      const { mounts } = plan.spec;
      const made = { image: undefined, deployId: undefined, cronToken: undefined };
      expect(plan.spec).toEqual({ ...service.attempted, ...made, mounts });
      expect(mounts).toEqual(read.mounts);
    }),
    runs(300),
  );
});

test("many of the generated requests have adjustments, mounts and schedules", () => {
  const plans = fc
    .sample(deployRequest(), runs(2000))
    .map(({ declares }) => planDeploy(acme, declares, null, capabilitiesWith(cloudRunLikeCatalogue), []));
  const share = (holds: (plan: DeployPlan) => boolean) => plans.filter(holds).length / plans.length;
  expect(share((plan) => plan.adjustments.length > 0)).toBeGreaterThanOrEqual(0.2);
  expect(share((plan) => plan.adjustments.some(({ field }) => field === "cpu"))).toBeGreaterThanOrEqual(0.1);
  expect(share((plan) => plan.adjustments.some(({ field }) => field === "memory"))).toBeGreaterThanOrEqual(0.05);
  expect(share((plan) => plan.spec.mounts.length > 0)).toBeGreaterThanOrEqual(0.2);
  expect(share((plan) => plan.spec.schedule !== null)).toBeGreaterThanOrEqual(0.2);
  expect(share((plan) => Object.keys(plan.spec.env).length > 0)).toBeGreaterThanOrEqual(0.2);
});

const wireNames = {
  port: "port",
  memory: "memory",
  cpu: "cpu",
  timeout: "timeout",
  concurrency: "concurrency",
  max_instances: "maxInstances",
  session_affinity: "sessionAffinity",
  use_http2: "useHttp2",
  volumes: "mounts",
  schedule: "schedule",
  env: "env",
  min_instances: "minInstances",
  health: "health",
  idle: "idle",
} as const;

const volumesOf = ({ mounts }: ServiceSpec): string[] => [...new Set(mounts.map(({ volume }) => volume))].sort();

const two = fc.tuple(deployRequest(), deployRequest()).map((both) => both.map(({ declares }) => declares));

test("between any two deployments, the changes are exactly the fields that differ", () => {
  fc.assert(
    fc.property(two, fc.array(volumeName(), { maxLength: 3 }), ([before, after], known) => {
      const capabilities = capabilitiesWith(cloudRunLikeCatalogue);
      const from = planDeploy(acme, before as DeployDeclaration, null, capabilities, []).spec;
      const plan = planDeploy(
        acme,
        { ...(after as DeployDeclaration), name: from.name },
        serviceOf(templateOf(from)),
        capabilities,
        known.map(volumeNamed),
      );
      const differing = Object.entries(wireNames).filter(([, key]) => !isDeepStrictEqual(from[key], plan.spec[key]));
      expect(plan.changes.map(({ field }) => field).sort()).toEqual(differing.map(([field]) => field).sort());
      const [old, now] = [volumesOf(from), volumesOf(plan.spec)];
      expect(plan.volumesDetached).toEqual(old.filter((name) => !now.includes(name)));
      expect(plan.volumesToCreate).toEqual(now.filter((name) => !(known as string[]).includes(name)));
    }),
    runs(300),
  );
});

test("no message or change of a plan contains a value of the environment", () => {
  const secrets = environment().map((env) =>
    Object.fromEntries(Object.keys(env).map((name, index) => [name, `s3cret-${index}`])),
  );
  fc.assert(
    fc.property(deployRequest(), secrets, secrets, ({ declares }, before, after) => {
      const capabilities = capabilitiesWith(cloudRunLikeCatalogue);
      const first = planDeploy(acme, { ...declares, env: before }, null, capabilities, []);
      const plan = planDeploy(acme, { ...declares, env: after }, serviceOf(templateOf(first.spec)), capabilities, []);
      expect(JSON.stringify([describePlan(first), describePlan(plan), plan.changes])).not.toContain("s3cret-");
    }),
    runs(200),
  );
});
