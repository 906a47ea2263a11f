/** Templates in the record and in ECS: parsing returns what was declared, and foreign fields are kept. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { fargateSizes } from "../../../../../adapters/aws/deploy/fargate-sizes.ts";
import { familyOf, targetGroupNameOf } from "../../../../../adapters/aws/deploy/records/names.ts";
import { type HeldRecord, parseRecord, renderRecord } from "../../../../../adapters/aws/deploy/records/record.ts";
import { healthRanges, renderDefinition, renderTargetGroup } from "../../../../../adapters/aws/deploy/render.ts";
import { streamPrefixOf } from "../../../../../adapters/aws/logs/streams.ts";
import { folderKey } from "../../../../../adapters/aws/volumes/files/access-point.ts";
import { revisionIdOf } from "../../../../../adapters/cloud/deploy/revision-id.ts";
import { fitHealth } from "../../../../../core/domain/deploy/health.ts";
import { fitResources } from "../../../../../core/domain/deploy/resources.ts";
import type { ServiceTemplate } from "../../../../../core/domain/deploy/service-template.ts";
import { serviceTemplate } from "../../../../arbitraries/index.ts";
import { templateFor } from "../../../../contracts/support.ts";
import { checkDefinition } from "../../../../fakes/aws/ecs/validation.ts";
import { sharedResources } from "../../../../fakes/aws/ecs/world.ts";
import { checkGroup } from "../../../../fakes/aws/elbv2/validation.ts";
import { accountOf, nameOf } from "../../../../support/http/brands.ts";
import { runs } from "../../../../support/vitest/runs.ts";

const place = { region: "eu-west-1", shared: sharedResources(80) };
const at = "2026-01-01T00:00:00+00:00";
const write = "00000000write000new";

const recordOf = (template: ServiceTemplate, former: readonly ServiceTemplate[] = []): HeldRecord => ({
  kind: "held",
  uid: "uid",
  createdAt: at,
  balancer: 3,
  state: { write, at, revision: revisionIdOf(template.name, write), step: "moved", until: at },
  attempted: template,
  former: former.map((one, index) => ({ id: `${one.name}-old${index}`, template: one })),
  retired: ["gone"],
  released: 3,
  releases: [
    { release: 1, revision: "gone", image: null, at: null },
    { release: 3, revision: revisionIdOf(template.name, write), image: template.image, at },
  ],
  removing: null,
  lastDeploy: { deployId: "d", status: "DONE", reason: null, finishedAt: at, at },
});

const definitionOf = (template: ServiceTemplate) => {
  const fileSystems = new Map(
    template.mounts.map(({ bucket, subPath }) => {
      const fileSystem = `arn:aws:s3files:eu-west-1:1:file-system/${bucket}`;
      return [folderKey(bucket, subPath), { fileSystem, accessPoint: undefined }];
    }),
  );
  const revision = revisionIdOf(template.name, write);
  const secrets = new Map(
    Object.entries(template.secrets ?? {}).map(([variable, { name, version }]) => [
      variable,
      `arn:aws:secretsmanager:eu-west-1:1:secret:${name}/${version}-000001`,
    ]),
  );
  const roles = { taskRole: "arn:aws:iam::1:role/a", executionRole: "arn:aws:iam::1:role/b" };
  return renderDefinition(place, template, { revision, ...roles, secrets, fileSystems });
};

test("a record of an earlier version belongs to the first load balancer", () => {
  const record = recordOf(templateFor(accountOf("acme"), nameOf("app"), "image"));
  const { balancer: _, ...earlier } = JSON.parse(renderRecord(record));
  expect(parseRecord("app", JSON.stringify(earlier))).toEqual({ ...record, balancer: 0 });
});

test("a record survives rendering and parsing", () => {
  fc.assert(
    fc.property(serviceTemplate(), serviceTemplate(), (template, former) => {
      const record = recordOf(template, [former]);
      expect(parseRecord(template.name, renderRecord(record))).toStrictEqual(record);
    }),
    runs(300),
  );
});

test("a record of an earlier version has no releases", () => {
  const record = recordOf(templateFor(accountOf("acme"), nameOf("app"), "image"));
  const { released: _, releases: __, ...earlier } = JSON.parse(renderRecord(record));
  expect(parseRecord("app", JSON.stringify(earlier))).toEqual({ ...record, released: 0, releases: [] });
});

test("the record of a freed name survives rendering and parsing, and one of an earlier version has no uid", () => {
  const freed = { kind: "freed", name: "app", owner: accountOf("acme"), until: at, uid: "uid", released: 3 } as const;
  expect(parseRecord("app", renderRecord(freed))).toEqual(freed);
  const { uid: _, released: __, ...earlier } = JSON.parse(renderRecord(freed));
  expect(parseRecord("app", JSON.stringify(earlier))).toEqual({ ...freed, uid: null, released: 0 });
});

test("a record with a different name or an invalid part is not Portside's", () => {
  fc.assert(
    fc.property(serviceTemplate(), (template) => {
      const text = renderRecord(recordOf(template));
      expect(parseRecord(`${template.name}x`, text)).toBeUndefined();
      for (const key of ["version", "state", "attempted", "former", "uid", "retired", "releases"])
        expect(parseRecord(template.name, JSON.stringify({ ...JSON.parse(text), [key]: 1 }))).toBeUndefined();
    }),
    runs(50),
  );
});

test("every declaration renders to valid input of ECS and the load balancer, with at least the declared size", () => {
  fc.assert(
    fc.property(serviceTemplate(), (template) => {
      // Core fits resources and checks to the provider before a rollout, and rejects more than Fargate has.
      fc.pre(fitResources(template, fargateSizes) !== undefined);
      const definition = definitionOf(template);
      checkDefinition(definition);
      const ranges = { health: { supported: true as const, ranges: healthRanges } };
      const fitted = template.health ? { ...template, health: fitHealth(template.health, ranges) } : template;
      checkGroup(renderTargetGroup(place, fitted, revisionIdOf(template.name, write)));
      expect(Number(definition.cpu)).toBeGreaterThanOrEqual(template.cpu * 1024);
      expect(Number(definition.memory) * 1024 ** 2).toBeGreaterThanOrEqual(template.memory);
    }),
    runs(200),
  );
});

test("mounts share one volume per bucket and folder; the mount point has the access mode", () => {
  fc.assert(
    fc.property(serviceTemplate(), (template) => {
      const { volumes, containerDefinitions } = definitionOf(template);
      const mounts = containerDefinitions?.[0]?.mountPoints?.map(({ sourceVolume, containerPath, readOnly }) => {
        const files = volumes?.find(({ name }) => name === sourceVolume)?.s3filesVolumeConfiguration;
        const bucket = files?.fileSystemArn?.split("/").at(-1);
        return { path: containerPath, bucket, readOnly, folder: files?.rootDirectory?.slice(1) };
      });
      expect(mounts).toEqual(
        template.mounts.map(({ path, bucket, readOnly, subPath }) => ({ path, bucket, readOnly, folder: subPath })),
      );
      expect(new Set(volumes?.map(({ s3filesVolumeConfiguration: one }) => JSON.stringify(one))).size).toBe(
        volumes?.length,
      );
    }),
    runs(200),
  );
});

test("names fit their limits, and lines go to the deployment's streams", () => {
  fc.assert(
    fc.property(serviceTemplate(), (template) => {
      const revision = revisionIdOf(template.name, write);
      expect(targetGroupNameOf(revision).length).toBeLessThanOrEqual(32);
      expect(familyOf(template.owner, revision).length).toBeLessThanOrEqual(255);
      const { environment: _, ...container } = definitionOf(template).containerDefinitions?.[0] ?? {};
      const prefix = container.logConfiguration?.options?.["awslogs-stream-prefix"] ?? "";
      expect(prefix).toBe(`${streamPrefixOf(template.owner, template.name)}${revision}`);
      expect(prefix.length).toBeLessThan(200);
    }),
    runs(100),
  );
});
