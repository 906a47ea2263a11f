/** Deploys that mount volumes: the creation and announcement of volumes, and deploys whose volume was deleted. */
import { describe, expect, test } from "vitest";
import { type Fault, faulty, type PortCall } from "../../../../adapters/memory/index.ts";
import { unavailable } from "../../../../core/errors.ts";
import type { Provider } from "../../../../core/ports/provider.ts";
import {
  deployed,
  ended,
  type MemoryOptions,
  type MemoryPlatform,
  recordTexts,
  startMemory,
} from "../../../support/providers/memory-platform.ts";

const mounting = (...volumes: string[]) => ({
  volumes: Object.fromEntries(volumes.map((volume) => [`/mnt/${volume}`, volume])),
});

const namesOf = async ({ controlPlane, principal }: MemoryPlatform) =>
  (await controlPlane.listVolumes(principal()))._unsafeUnwrap().map(({ name }) => name);

const create = async ({ controlPlane, principal }: MemoryPlatform, name = "data") =>
  (await controlPlane.createVolume(principal(), { name }))._unsafeUnwrap();

const remove = async ({ controlPlane, principal }: MemoryPlatform, name = "data") =>
  (await controlPlane.deleteVolume(principal(), { name }))._unsafeUnwrap();

const faults = (
  port: "builder" | "services" | "volumes",
  fault: (call: PortCall) => Fault | undefined,
): MemoryOptions => ({
  around: (provider) => ({ [port]: faulty(provider[port], fault) }) as Partial<Provider>,
});

const failing = (port: "builder" | "services", reason: "build_failed" | "crashed") =>
  faults(port, ({ method }) =>
    method === "build" || method === "rollout" ? { failure: { reason, message: "It failed." } } : undefined,
  );

describe("missing volumes", () => {
  test("are created after the build and announced by name; existing ones are not", async () => {
    const platform = startMemory();
    await create(platform, "logs");
    const records = await deployed(platform, mounting("models", "logs", "data"));
    expect(recordTexts(records).slice(1, -1)).toEqual([
      "BUILDING Reading the source",
      "DEPLOYING Created new volume 'data'",
      "DEPLOYING Created new volume 'models'",
      "DEPLOYING Creating 'app'",
      "DEPLOYING Starting revision app-00001",
    ]);
    expect(records.map(({ volume }) => volume).filter(Boolean)).toEqual(["data", "models"]);
    expect(recordTexts(await deployed(platform, mounting("models", "data"))).join()).not.toContain("new volume");
  });

  test("a volume at two paths is created once", async () => {
    const platform = startMemory();
    const volumes = { "/a": { name: "data", sub_path: "a" }, "/b": { name: "data", read_only: true } };
    const records = await deployed(platform, { volumes });
    expect(records.filter(({ volume }) => volume === "data")).toHaveLength(1);
    const [{ id } = { id: "" }] = (await platform.controlPlane.listVolumes(platform.principal()))._unsafeUnwrap();
    const [service] = (await platform.memory.provider.services.list(platform.principal().account))._unsafeUnwrap();
    expect(service?.serving[0]?.template.mounts.map(({ bucket }) => bucket)).toEqual([id, id]);
  });

  test("a failed build creates no volume", async () => {
    const platform = startMemory(failing("builder", "build_failed"));
    expect((await ended(platform, mounting("data"))).at(-1)?.reason).toBe("build_failed");
    expect(await namesOf(platform)).toEqual([]);
  });

  test("a failed rollout keeps the volumes, which the stream announced", async () => {
    const platform = startMemory(failing("services", "crashed"));
    const records = await ended(platform, mounting("data"));
    expect(records.at(-1)?.reason).toBe("crashed");
    expect(records.some(({ volume }) => volume === "data")).toBe(true);
    expect(await namesOf(platform)).toEqual(["data"]);
  });

  test("if a volume cannot be created, the deploy ends, and the volumes created before remain", async () => {
    const platform = startMemory(
      faults("volumes", ({ method, count }) =>
        method === "create" && count === 2 ? { error: unavailable("The storage is down.") } : undefined,
      ),
    );
    const last = (await ended(platform, mounting("a", "b"))).at(-1);
    expect(last).toMatchObject({
      reason: "provider_unavailable",
      message: "Cannot use the volume 'b': The storage is down.",
    });
    expect(await namesOf(platform)).toEqual(["a"]);
  });
});

describe("the quota of volumes", () => {
  const full = { accountLimits: { volumes: 2 } };

  test("counts existing and missing volumes before anything is created", async () => {
    const platform = startMemory({ settings: full });
    await create(platform, "logs");
    await deployed(platform, mounting("logs", "data"));
    const refused = (await platform.submit(mounting("data", "models")))._unsafeUnwrapErr();
    expect(refused).toMatchObject({
      issues: [
        {
          path: ["volumes"],
          message: "your account may have at most 2 volumes; delete one first",
          type: "quota_exceeded",
        },
      ],
    });
    expect(await namesOf(platform)).toEqual(["data", "logs"]);
    expect(platform.kept.size).toBe(0);
  });

  test("an account above its quota can still deploy with existing volumes", async () => {
    const before = startMemory();
    for (const name of ["a", "b", "c"]) await create(before, name);
    const platform = startMemory({ settings: full, memory: before.memory, clock: before.clock });
    await deployed(platform, mounting("a", "b", "c"));
  });

  test("is checked again in the deploy's turn", async () => {
    const platform = startMemory({
      settings: full,
      around: ({ services, volumes }) => ({
        services: {
          ...services,
          // The first read is the validation, the second the plan of the deploy's turn.
          find: (name, options) =>
            services.find(name, options).andThen((state) =>
              volumes
                .create(platform.principal().account, `v-${finds++}` as Parameters<typeof volumes.create>[1])
                .map(() => state)
                .orElse(() => services.find(name, options)),
            ),
        },
      }),
    });
    let finds = 0;
    const last = (await ended(platform, mounting("data"))).at(-1);
    expect(last).toMatchObject({ status: "ERROR", reason: "quota_exceeded" });
    expect(await namesOf(platform)).toEqual(["v-0", "v-1"]);
  });
});

const WENT =
  "The volume 'data' was deleted in the meantime. Restore it with 'portside volume restore data', or deploy again to create an empty volume.";

/** A platform that runs a callback right before this method of a port. */
const meanwhile = (method: "build" | "rollout" | "mayServe", act: (platform: MemoryPlatform) => Promise<unknown>) => {
  const platform: MemoryPlatform = startMemory({
    around: ({ builder, services }) => ({
      builder: {
        build: async function* build(request, options) {
          if (method === "build") await act(platform);
          yield* builder.build(request, options);
        },
      },
      services: {
        ...services,
        rollout: async function* rollout(request, options) {
          if (method === "rollout") await act(platform);
          const { mayServe } = request;
          const ask = async () => {
            if (method === "mayServe") await act(platform);
            return mayServe?.();
          };
          yield* services.rollout({ ...request, mayServe: ask }, options);
        },
      },
    }),
  });
  return platform;
};

describe("a volume that the plan expected", () => {
  const recreated = async (platform: MemoryPlatform) => {
    await remove(platform);
    await create(platform);
  };

  test.each([
    ["deleted in the build", "build", remove],
    ["deleted and created again in the build", "build", recreated],
    ["deleted before the rollout", "rollout", remove],
    ["deleted and created again before the rollout", "rollout", recreated],
  ] as const)("%s ends the deploy, and no other volume is created", async (_when, method, act) => {
    const platform = meanwhile(method, act);
    await create(platform);
    const had = act === remove ? [] : ["data"];
    const records = await ended(platform, mounting("data"));
    expect(records.at(-1)).toMatchObject({ status: "ERROR", reason: "volume_unavailable", message: WENT });
    expect(records.some(({ volume }) => volume !== undefined)).toBe(false);
    expect(await namesOf(platform)).toEqual(had);
  });

  test("cannot be deleted once the new template refers to it", async () => {
    let refused: unknown;
    const platform = meanwhile("mayServe", async ({ controlPlane, principal }) => {
      refused = (await controlPlane.deleteVolume(principal(), { name: "data" }))._unsafeUnwrapErr();
    });
    await create(platform);
    await deployed(platform, mounting("data"));
    expect(refused).toMatchObject({ kind: "conflict" });
  });

  test("that was deleted leaves the previous revision and its volumes unchanged", async () => {
    let armed = false;
    const platform = meanwhile("rollout", async (one) => (armed ? remove(one) : undefined));
    await deployed(platform, mounting("logs"));
    await create(platform);
    armed = true;
    expect((await ended(platform, mounting("data"))).at(-1)?.reason).toBe("volume_unavailable");
    const shown = (await platform.controlPlane.listVolumes(platform.principal()))._unsafeUnwrap();
    expect(shown.map(({ name, attached_to }) => [name, attached_to])).toEqual([["logs", ["app"]]]);
    const [deployment] = (await platform.controlPlane.listDeployments(platform.principal()))._unsafeUnwrap();
    expect(deployment).toMatchObject({ status: "READY", volumes: { "/mnt/logs": { name: "logs" } } });
  });

  /** Begins to delete the volume. After `millis`, aborts the deletion if the volume `stays`, otherwise completes it. */
  const hideFor = (millis: number, stays: boolean) => async (platform: MemoryPlatform) => {
    const { volumes } = platform.memory.provider;
    const [own] = (await volumes.list(platform.principal().account))._unsafeUnwrap();
    if (own === undefined) throw new Error("there is no volume");
    (await volumes.beginDelete(own))._unsafeUnwrap();
    void platform.clock
      .sleep(millis)
      .then(() => (stays ? volumes.abortDelete(own) : volumes.moveToTrash(own, own.createdAt)))
      .then((end) => end._unsafeUnwrap());
  };

  test.each([
    ["build", 1000, true, "DONE"],
    ["build", 1000, false, "volume_unavailable"],
    ["mayServe", 1000, true, "DONE"],
    ["mayServe", 1000, false, "volume_unavailable"],
    // Longer than a deploy waits, as if the process that deletes the volume had died.
    ["mayServe", 60_000, true, "volume_unavailable"],
  ] as const)("hidden during %s for %i ms, then shown again: %s, ends with %s", async (method, millis, stays, end) => {
    const platform = meanwhile(method, hideFor(millis, stays));
    await create(platform);
    const last = (await ended(platform, mounting("data"))).at(-1);
    expect(last?.reason ?? last?.status).toBe(end);
  });

  test("ends the deploy if the store cannot report whether the volume exists", async () => {
    const platform = startMemory(
      faults("volumes", ({ method, count }) =>
        method === "find" && count === 2 ? { error: unavailable("The storage is down.") } : undefined,
      ),
    );
    await create(platform);
    const last = (await ended(platform, mounting("data"))).at(-1);
    expect(last).toMatchObject({
      reason: "provider_unavailable",
      message: "Cannot use the volume 'data': The storage is down.",
    });
  });
});

test("a deployment that is removed and created again mounts the same bucket", async () => {
  const platform = startMemory();
  const { controlPlane, principal } = platform;
  const ids = async () => (await controlPlane.listVolumes(principal()))._unsafeUnwrap();
  await deployed(platform, mounting("data"));
  const [first] = await ids();
  (await controlPlane.deleteDeployment(principal(), { name: "app" }))._unsafeUnwrap();
  expect(await ids()).toEqual([{ ...first, attached_to: [] }]);
  await deployed(platform, mounting("data"));
  expect(await ids()).toEqual([first]);
});
