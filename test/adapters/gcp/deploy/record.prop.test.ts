/** A template survives the round trip through Cloud Run, and fields that are not Portside's stay unchanged. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { revisionIdOf } from "../../../../adapters/cloud/deploy/revision-id.ts";
import { parseOwn } from "../../../../adapters/gcp/deploy/parse.ts";
import { annotationNames, labelsOf, renderRecord } from "../../../../adapters/gcp/deploy/record.ts";
import { type RunService, renderTemplate } from "../../../../adapters/gcp/deploy/render.ts";
import { releaseLimits } from "../../../../core/domain/accounts/limits.ts";
import type { ServiceTemplate } from "../../../../core/domain/deploy/service-template.ts";
import { type Instant, parseInstant } from "../../../../core/domain/wire/instant.ts";
import { serviceTemplate } from "../../../arbitraries/index.ts";
import { messages } from "../../../fakes/gcp/grpc.ts";
import { runs } from "../../../support/vitest/runs.ts";

const wire = messages("@google-cloud/run");
const now = parseInstant("2026-01-01T00:00:00Z") as Instant;
const identity = "portside-x@p.iam.gserviceaccount.com";

/** The longest list of releases. */
const manyReleases = {
  newest: 1100,
  served: Array.from({ length: releaseLimits.kept.max }, (_, at) => ({
    release: 1100 - at,
    revision: "r".repeat(63),
    at: "2026-01-01T00:00:00.123456+00:00",
  })),
};

const rendered = (template: ServiceTemplate, former: ServiceTemplate[] = []): RunService => {
  const revision = revisionIdOf(template.name, "00000000write0000new");
  const at = "2026-01-01T00:00:00+00:00";
  const state = { write: "write", at, revision, step: "moved" as const, until: at };
  const revisions = former.map((one, index) => ({ id: `${one.name}-old${index}`, template: one }));
  return {
    name: `projects/p/locations/r/services/${template.name}`,
    labels: labelsOf(template),
    annotations: renderRecord({ state, attempted: template, former: revisions, releases: manyReleases }),
    template: renderTemplate(template, { identity, revision, listenDeadlineMs: 60_000 }),
    trafficStatuses: [{ type: "TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION", revision, percent: 100 }],
  };
};

const onTheWire = (service: RunService) => wire.received("google.cloud.run.v2.Service", service) as RunService;

test("a template survives rendering, sending and parsing", () => {
  fc.assert(
    fc.property(serviceTemplate(), (template) => {
      const own = parseOwn(onTheWire(rendered(template)), { region: "r", now });
      expect(own?.service.attempted).toStrictEqual(template);
      expect(own?.service.serving).toStrictEqual([
        { id: revisionIdOf(template.name, "00000000write0000new"), template },
      ]);
    }),
    runs(300),
  );
});

test("mounts share one volume per bucket, access mode and folder", () => {
  fc.assert(
    fc.property(serviceTemplate(), (template) => {
      const { volumes, containers, executionEnvironment } = rendered(template).template ?? {};
      const mounts = containers?.[0]?.volumeMounts?.map(({ name, mountPath }) => {
        const gcs = volumes?.find((volume) => volume.name === name)?.gcs;
        const folder = gcs?.mountOptions?.find((option) => option.startsWith("only-dir="))?.slice(9);
        return { path: mountPath, bucket: gcs?.bucket, readOnly: gcs?.readOnly, folder };
      });
      expect(mounts).toEqual(
        template.mounts.map(({ path, bucket, readOnly, subPath }) => ({ path, bucket, readOnly, folder: subPath })),
      );
      expect(new Set(volumes?.map(({ gcs }) => JSON.stringify(gcs))).size).toBe(volumes?.length);
      if (template.mounts.length > 0) expect(executionEnvironment).toBe("EXECUTION_ENVIRONMENT_GEN2");
    }),
    runs(200),
  );
});

test("the record stays below Kubernetes' 256 KiB with two of the largest declarations", () => {
  fc.assert(
    fc.property(serviceTemplate(), serviceTemplate(), (one, other) => {
      // Quotes double in nested JSON, and `former` holds each declaration as text within text.
      const env = { LARGE: '"'.repeat(32_000) };
      const service = rendered({ ...one, env }, [{ ...other, env }]);
      const bytes = Buffer.byteLength(
        Object.entries(service.annotations ?? {})
          .flat()
          .join(""),
      );
      expect(bytes).toBeLessThan(256 * 1024);
    }),
    runs(50),
  );
});

test("a template always runs with the account's own identity", () => {
  fc.assert(
    fc.property(serviceTemplate(), (template) => {
      expect(rendered(template).template?.serviceAccount).toBe(identity);
    }),
    runs(50),
  );
});

test("a service that lacks any part of the record is not Portside's", () => {
  fc.assert(
    fc.property(serviceTemplate(), (template) => {
      const service = rendered(template);
      const foreign: RunService[] = [
        { ...service, labels: {} },
        { ...service, labels: { "portside-owner": "0".repeat(32) } },
        { ...service, name: "projects/p/locations/r/services/another-name-than-declared-here" },
        ...[annotationNames.state, annotationNames.attempted, annotationNames.former].flatMap((key) => [
          { ...service, annotations: { ...service.annotations, [key]: "{" } },
          { ...service, annotations: { ...service.annotations, [key]: "[1]" } },
        ]),
      ];
      for (const one of foreign) expect(parseOwn(one, { region: "r", now })).toBeUndefined();
    }),
    runs(50),
  );
});
