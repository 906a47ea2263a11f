/** The fake Cloud Run's engine runs real processes: mounts, environment, public access and logs. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { v2 } from "@google-cloud/run";
import { afterAll, beforeAll, expect, test } from "vitest";
import { nodeContractSources } from "../../support/providers/contract-sources.ts";
import { eventually } from "../../support/vitest/eventually.ts";
import { openRunWorld, type RunWorld } from "../gcp/run/world.ts";
import { PROJECT, REGION } from "../gcp/test-project.ts";
import { createLocalEngine, type LocalEngine } from "./local-engine.ts";

const parent = `projects/${PROJECT}/locations/${REGION}`;

let world: RunWorld;
let engine: LocalEngine;
let client: v2.ServicesClient;
let buckets: string;
beforeAll(async () => {
  buckets = await mkdtemp(join(tmpdir(), "portside-buckets-"));
  world = await openRunWorld({
    engine: async (onLine) => {
      engine = await createLocalEngine({ onLine, buckets });
      return engine;
    },
  });
  client = await world.clients("services");
});
afterAll(async () => {
  await world.close();
  await rm(buckets, { recursive: true, force: true });
});

const imageOf = async (tag: string, archive: Uint8Array): Promise<string> => {
  const built = await engine.build(archive, () => undefined, new AbortController().signal);
  if ("failure" in built) throw new Error(built.failure.message);
  const reference = `${REGION}-docker.pkg.dev/${PROJECT}/r/app:${tag}`;
  world.registry.push(reference, built.image);
  return reference;
};

const open = async (id: string) => {
  const resource = `${parent}/services/${id}`;
  const bindings = [{ role: "roles/run.invoker", members: ["allUsers"] }];
  await client.setIamPolicy({ resource, policy: { bindings } });
};

const created = async (serviceId: string, service: Parameters<typeof client.createService>[0] & object) => {
  const [operation] = await client.createService({ parent, serviceId, ...service });
  await operation.promise();
  const [done] = await client.getService({ name: `${parent}/services/${serviceId}` });
  return done.uri ?? "";
};

const textAt = async (url: string): Promise<string> => {
  const answer = await fetch(url, { headers: { connection: "close" } });
  return answer.ok ? answer.text() : `status ${answer.status}`;
};

test("mirrors a bucket to a revision's folder and back, and sets the environment", async () => {
  await mkdir(join(buckets, "vol"), { recursive: true });
  await writeFile(join(buckets, "vol", "seen.txt"), "from the bucket");
  const mounted = {
    volumeMounts: [{ name: "v", mountPath: "/data" }],
    env: [{ name: "GREETING", value: "grüß dich" }],
  };
  const image = await imageOf("files", nodeContractSources.files());
  const volumes = [{ name: "v", gcs: { bucket: "vol" } }];
  const serviceAccount = "files@p.iam.gserviceaccount.com";
  world.iam.accounts.set(serviceAccount, {
    email: serviceAccount,
    displayName: "",
    description: "",
    hidden: 0,
    createdAt: 0,
  });
  const members = [`serviceAccount:${serviceAccount}`];
  const { world: storage } = world.storage;
  storage.setPolicy(storage.insertBucket({ name: "vol" }), {
    bindings: [{ role: "roles/storage.objectUser", members }],
  });
  const service = {
    template: { revision: "files-one", serviceAccount, containers: [{ image, ...mounted }], volumes },
  };
  const url = await created("files", { service });
  await open("files");
  expect(await textAt(`${url}/?path=/data/seen.txt`)).toBe("from the bucket");
  await fetch(`${url}/?path=/data/written.txt`, { method: "PUT", body: "from the service" });
  expect(await readFile(join(buckets, "vol", "written.txt"), "utf8")).toBe("from the service");
  expect(await textAt(`${url}/env?name=GREETING`)).toBe("grüß dich");
  expect(await textAt(`${url}/env?name=K_SERVICE`)).toBe("files");
});

test("rejects requests to a private service", async () => {
  const image = await imageOf("private", nodeContractSources.hello("for some"));
  const url = await created("private", { service: { template: { containers: [{ image }] } } });
  expect(await textAt(url).catch(() => "no connection")).not.toBe("for some");
  await open("private");
  expect(await textAt(url)).toBe("for some");
});

test("logs a revision's output and exit", async () => {
  const image = await imageOf("leaving", nodeContractSources.exits(7));
  const revision = "leaving-one";
  await expect(created("leaving", { service: { template: { revision, containers: [{ image }] } } })).rejects.toThrow();
  const lines = () =>
    world.lines.filter((line) => line.revision === revision).map(({ log, text }) => `${log}: ${text}`);
  await eventually(() => expect(lines()).toContain("stdout: leaving"));
  expect(lines()).toContain("varlog/system: Container called exit(7).");
});

test("logs requests", async () => {
  const image = await imageOf("asked", nodeContractSources.hello("asked"));
  const url = await created("asked", { service: { template: { revision: "asked-one", containers: [{ image }] } } });
  await open("asked");
  await textAt(url);
  const request = () => world.lines.find((line) => line.service === "asked" && line.log === "requests");
  await eventually(() => expect(request()).toMatchObject({ revision: "asked-one", http: { status: 200 } }));
});
