/** Volumes: pages of large folders, and the list of many volumes. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LocalObjects } from "../../adapters/local/volumes/local-objects.ts";
import { createMemoryProvider } from "../../adapters/memory/index.ts";
import { renderService } from "../../adapters/shared/deploy/service-document.ts";
import { randomIds } from "../../adapters/shared/runtime/system.ts";
import { createControlPlane } from "../../core/control-plane.ts";
import { type AccountId, parseAccount } from "../../core/domain/accounts/account.ts";
import type { DeploymentName, VolumeName } from "../../core/domain/wire/names.ts";
import { okAsync } from "../../core/result.ts";
import { serviceOf } from "../support/logs/services.ts";
import { silentLogger } from "../support/logs/silent-logger.ts";
import type { Bench } from "./bench.ts";

const BUCKET = "vol-bench";
const IN_FOLDER = 10_000;

const fill = (folder: string, files: number): void => {
  mkdirSync(folder, { recursive: true });
  for (let n = 0; n < files; n++) writeFileSync(join(folder, `object-${String(n).padStart(7, "0")}`), "");
};

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
};

export const volumePage: Bench = {
  name: "volume-page",
  title: "listing 1,000 objects from the middle of a folder of 10,000, with 1 million files in other folders",
  unit: "ms",
  goals: [{ at: "most", bound: 50 }],
  prepare: async ({ small }) => {
    const root = mkdtempSync(join(tmpdir(), "portside-bench-volumes-"));
    const volumes = { isLive: () => true, ownerOf: () => undefined };
    const logger = silentLogger;
    const objects = new LocalObjects({ storage: root, volumes, userOf: () => undefined, ids: randomIds, logger });
    await objects.open();
    const volume = join(root, "volumes", BUCKET);
    fill(join(volume, "m-folder"), IN_FOLDER);
    const others = small ? 2 : 100;
    for (let n = 0; n < others; n++) fill(join(volume, `${n % 2 === 0 ? "a" : "z"}-${n}`), IN_FOLDER);
    fill(join(root, "volumes", "flat"), small ? 10_000 : 100_000);
    const page = (bucket: string, prefix: string, after: string) => () =>
      timed(() => objects.list(bucket, { prefix, after, limit: 1000 }));
    return {
      subject: { name: "portside", measure: page(BUCKET, "m-folder/", "m-folder/object-0005000") },
      peers: [
        { name: "a flat folder of 100,000", measure: page("flat", "", "object-0005000") },
        { name: "without a prefix", measure: page(BUCKET, "", "m-folder/object-0005000") },
      ],
      [Symbol.asyncDispose]: async () => rmSync(root, { recursive: true }),
    };
  },
};

export const volumeList: Bench = {
  name: "volume-list",
  title: "GET /v1/volume/list with 1,000 volumes and 10,000 deployments in memory, which calls the provider once",
  unit: "ms",
  goals: [{ at: "most", bound: 50 }],
  prepare: async () => {
    const memory = createMemoryProvider();
    const { provider } = memory;
    const account = parseAccount("acme") as AccountId;
    for (let n = 0; n < 1000; n++)
      (await provider.volumes.create(account, `volume-${n}` as VolumeName))._unsafeUnwrap();
    const template = {
      owner: account,
      port: 8080,
      memory: 1 << 30,
      cpu: 1,
      timeout: 60,
      concurrency: 80,
      maxInstances: 0,
      sessionAffinity: false,
      useHttp2: false,
      schedule: null,
      cronToken: "token",
      env: {},
      image: "memory://acme/sha256:0",
      deployId: "bench",
    };
    const running = Array.from({ length: 10_000 }, (_, n) => {
      const mount = { path: "/data", volume: `volume-${n % 1000}` as VolumeName, bucket: `vol-${n}`, readOnly: false };
      const service = serviceOf({ ...template, name: `app-${n}` as DeploymentName, mounts: [mount] });
      return { service, document: renderService(service.attempted) };
    });
    let calls = 0;
    const list = () => {
      calls++;
      return okAsync(running.map(({ service }) => service));
    };
    const services = { ...provider.services, list };
    const controlPlane = createControlPlane({ ...memory.ports, provider: { ...provider, services } });
    const principal = { account, credentialId: "bench" };
    return {
      subject: {
        name: "portside",
        measure: async () => {
          const before = calls;
          const took = await timed(async () => controlPlane.listVolumes(principal));
          if (calls !== before + 1) throw new Error("the list did not call the provider exactly once");
          return took;
        },
      },
      peers: [],
      [Symbol.asyncDispose]: () => memory.close(),
    };
  },
};
