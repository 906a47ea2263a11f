/** The fake Cloud Run, as seen by Google's own client. */

import type { v2 } from "@google-cloud/run";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createFakeEngine } from "../../engine/engine.ts";
import { takeViolations } from "../requests/violations.ts";
import { PROJECT, REGION } from "../test-project.ts";
import { openRunWorld, type RunWorld } from "./world.ts";

const parent = `projects/${PROJECT}/locations/${REGION}`;
const IMAGE = `${REGION}-docker.pkg.dev/${PROJECT}/r/hello:1`;

let world: RunWorld;
let client: v2.ServicesClient;
beforeAll(async () => {
  world = await openRunWorld({ engine: createFakeEngine });
  world.registry.push(IMAGE, "hello");
  client = await world.clients("services");
});
afterAll(() => world.close());

const container = (more: object = {}) => ({ image: IMAGE, ...more });
const service = (more: object = {}, box: object = {}) => ({ template: { containers: [container(box)] }, ...more });
const code = async (work: Promise<unknown>): Promise<number> =>
  work.then(
    () => 0,
    (error: { code: number }) => error.code,
  );
const made = async (serviceId: string, given = service()) => {
  const [operation] = await client.createService({ parent, serviceId, service: given });
  await operation.promise();
  const [done] = await client.getService({ name: `${parent}/services/${serviceId}` });
  return done;
};

/** Updates a service, waits for the operation, and returns the service. */
const updated = async (given: Parameters<typeof client.updateService>[0] & object) => {
  const [operation] = await client.updateService(given);
  await operation.promise();
  const [done] = await client.getService({ name: given.service?.name ?? "" });
  return done;
};

test("creates a service with a long-running operation, and its revision then has all traffic", async () => {
  const done = await made("one");
  expect(done).toMatchObject({
    name: `${parent}/services/one`,
    generation: "1",
    observedGeneration: "1",
    reconciling: false,
    terminalCondition: { state: "CONDITION_SUCCEEDED" },
    trafficStatuses: [{ percent: 100 }],
  });
  expect(done.latestReadyRevision).toBe(done.latestCreatedRevision);
  expect(done.uri).toMatch(/^http/);
});

test("returns ALREADY_EXISTS, NOT_FOUND and ABORTED", async () => {
  const done = await made("two");
  expect(await code(client.createService({ parent, serviceId: "two", service: service() }))).toBe(6);
  expect(await code(client.getService({ name: `${parent}/services/none` }))).toBe(5);
  expect(await code(client.updateService({ service: { ...service(), name: `${parent}/services/none` } }))).toBe(5);
  expect(await code(client.updateService({ service: { ...service(), name: done.name ?? "", etag: '"0"' } }))).toBe(10);
  expect(await code(client.deleteService({ name: done.name ?? "", etag: '"0"' }))).toBe(10);
});

test("changes only the fields in the mask", async () => {
  const done = await made("three", service({ labels: { kept: "1" }, annotations: { old: "1" } }));
  const changed = { name: done.name ?? "", labels: {}, annotations: { new: "1" } };
  const after = await updated({ service: changed, updateMask: { paths: ["annotations"] } });
  expect(after).toMatchObject({ labels: { kept: "1" }, annotations: { new: "1" }, generation: "2" });
  expect(after.annotations).not.toHaveProperty("old");
  // The template is unchanged, and therefore the revision is too.
  expect(after.latestCreatedRevision).toBe(done.latestCreatedRevision);
  expect(after.etag).not.toBe(done.etag);
});

test("creates a revision for a changed template, and no second one of the same name", async () => {
  const done = await made("four");
  const next = { name: done.name ?? "", template: { ...done.template, revision: "four-b", sessionAffinity: true } };
  const after = await updated({ service: next });
  expect(after.latestCreatedRevision).toBe(`${done.name}/revisions/four-b`);
  const again = { name: after.name ?? "", template: { ...after.template, sessionAffinity: false } };
  expect(await code(client.updateService({ service: again }))).toBe(6);
});

test("keeps pinned traffic while a new revision becomes ready", async () => {
  const done = await made("five");
  const old = done.latestReadyRevision?.split("/").at(-1) ?? "";
  const traffic = [{ type: "TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION" as const, revision: old, percent: 100 }];
  const next = {
    name: done.name ?? "",
    traffic,
    template: { ...done.template, revision: "five-b", sessionAffinity: true },
  };
  const after = await updated({ service: next });
  expect(after.trafficStatuses).toMatchObject([{ revision: old, percent: 100 }]);
  expect(after.latestReadyRevision).toBe(`${done.name}/revisions/five-b`);
});

test("a missing image fails the operation, the service and the revision, with a code", async () => {
  const [operation] = await client.createService({
    parent,
    serviceId: "six",
    service: service({}, { image: `${IMAGE}x` }),
  });
  expect(await code(operation.promise())).toBe(9);
  const [failed] = await client.getService({ name: `${parent}/services/six` });
  expect(failed.terminalCondition).toMatchObject({ state: "CONDITION_FAILED", reason: "CONTAINER_MISSING" });
  const revisions = await world.clients("revisions");
  const [revision] = await revisions.getRevision({ name: failed.latestCreatedRevision ?? "" });
  expect(revision.conditions).toMatchObject([
    { type: "Ready", state: "CONDITION_FAILED", reason: "CONTAINER_MISSING" },
  ]);
});

test("does not return a deleted service", async () => {
  const done = await made("seven");
  const [operation] = await client.deleteService({ name: done.name ?? "" });
  await operation.promise();
  expect(await code(client.getService({ name: done.name ?? "" }))).toBe(5);
});

test("lists pages, newest first", async () => {
  const elsewhere = "projects/other/locations/r";
  for (const id of ["a", "b", "c"])
    await client.createService({ parent: elsewhere, serviceId: id, service: service() });
  const page = async (pageToken: string) => {
    const request = { parent: elsewhere, pageSize: 2, pageToken };
    const [found, , answer] = await client.listServices(request, { autoPaginate: false });
    return { ids: found.map(({ name }) => name?.at(-1)), next: answer?.nextPageToken };
  };
  const first = await page("");
  expect(first.ids).toEqual(["c", "b"]);
  expect(await page(first.next ?? "")).toEqual({ ids: ["a"], next: "" });
});

test.each([
  ["an id that ends in a hyphen", "bad-", service()],
  ["an id of 50 characters", "a".repeat(50), service()],
  ["no container", "x", { template: {} }],
  ["three CPUs", "x", service({}, { resources: { limits: { cpu: "3", memory: "4Gi" } } })],
  ["5Gi, which requires more than one CPU", "x", service({}, { resources: { limits: { cpu: "1", memory: "5Gi" } } })],
  [
    "less than one CPU with two concurrent requests",
    "x",
    {
      template: {
        maxInstanceRequestConcurrency: 2,
        containers: [container({ resources: { limits: { cpu: "0.5", memory: "512Mi" } } })],
      },
    },
  ],
  [
    "less than one CPU in the second generation",
    "x",
    {
      template: {
        maxInstanceRequestConcurrency: 1,
        executionEnvironment: "EXECUTION_ENVIRONMENT_GEN2",
        containers: [container({ resources: { limits: { cpu: "0.5", memory: "512Mi" } } })],
      },
    },
  ],
  [
    "a quarter of a CPU with more than 512Mi",
    "x",
    {
      template: {
        maxInstanceRequestConcurrency: 1,
        containers: [container({ resources: { limits: { cpu: "0.25", memory: "513Mi" } } })],
      },
    },
  ],
  [
    "an HTTP probe of an HTTP/2 service",
    "x",
    service({}, { ports: [{ name: "h2c", containerPort: 8080 }], startupProbe: { httpGet: { path: "/" } } }),
  ],
  [
    "a probe whose timeout exceeds its period",
    "x",
    service({}, { livenessProbe: { httpGet: { path: "/" }, timeoutSeconds: 11, periodSeconds: 10 } }),
  ],
  ["a liveness probe over TCP", "x", service({}, { livenessProbe: { tcpSocket: {} } })],
  ["a mount of an undeclared volume", "x", service({}, { volumeMounts: [{ name: "v", mountPath: "/v" }] })],
  ["a reserved variable", "x", service({}, { env: [{ name: "PORT", value: "1" }] })],
  ["Google's own annotations", "x", service({ annotations: { "run.googleapis.com/x": "1" } })],
  ["a label with capitals", "x", service({ labels: { Team: "x" } })],
  ["annotations of more than 256 KiB", "x", service({ annotations: { a: "x".repeat(300_000) } })],
  ["a revision of another service's name", "x", { template: { revision: "y-1", containers: [container()] } }],
  ["traffic of 90 %", "x", service({ traffic: [{ type: "TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST", percent: 90 }] })],
])("rejects %s", async (_, serviceId, given) => {
  expect(await code(client.createService({ parent, serviceId, service: given as never }))).toBe(3);
});

test("rejects a container without an image, which the proto forbids too", async () => {
  expect(await code(client.createService({ parent, serviceId: "x", service: service({}, { image: "" }) }))).toBe(3);
  expect(takeViolations()).toEqual([
    "gRPC /google.cloud.run.v2.Services/CreateService: service.template.containers[0].image: missing required field",
  ]);
});

test("rejects a policy with an outdated etag", async () => {
  const done = await made("eight");
  const resource = done.name ?? "";
  const [policy] = await client.getIamPolicy({ resource });
  const open = { ...policy, bindings: [{ role: "roles/run.invoker", members: ["allUsers"] }] };
  await client.setIamPolicy({ resource, policy: open });
  expect(await code(client.setIamPolicy({ resource, policy: open }) as Promise<unknown>)).toBe(10);
});

test("injects faults before the effect, or after it as a lost response", async () => {
  const options = { retry: null };
  for (const [kind, expected] of [
    ["unavailable", 14],
    ["permission_denied", 7],
    ["resource_exhausted", 8],
  ] as const) {
    world.run.faults.inject({ method: "Services.CreateService", nth: 1, kind });
    expect(await code(client.createService({ parent, serviceId: "nine", service: service() }, options))).toBe(expected);
    expect(world.run.stored("nine")).toBeUndefined();
  }
  world.run.faults.inject({ method: "Services.CreateService", nth: 1, kind: "reply_lost" });
  expect(await code(client.createService({ parent, serviceId: "nine", service: service() }, options))).toBe(14);
  expect(world.run.stored("nine")).toBeDefined();
});
