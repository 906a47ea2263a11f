/** Volumes: create, list with their mounts, delete into the trash, restore; and the message of every error. */
import { describe, expect, test } from "vitest";
import { createManualClock, faulty } from "../../../../adapters/memory/index.ts";
import { missing } from "../../../../core/domain/wire/capabilities.ts";
import { notFound, unavailable } from "../../../../core/errors.ts";
import {
  accepted,
  deployed,
  type MemoryPlatform,
  recordsOf,
  recordTexts,
  startMemory,
} from "../../../support/providers/memory-platform.ts";

const DAY = 86_400_000;
const mounting = (volume = "data") => ({ volumes: { "/data": volume } });

const create = ({ controlPlane, principal }: MemoryPlatform, name = "data", account?: string) =>
  controlPlane.createVolume(principal(account), { name });
const remove = ({ controlPlane, principal }: MemoryPlatform, name = "data", account?: string) =>
  controlPlane.deleteVolume(principal(account), { name });
const restore = (
  { controlPlane, principal }: MemoryPlatform,
  request: Record<string, unknown> = {},
  account?: string,
) => controlPlane.restoreVolume(principal(account), { name: "data", ...request });
const list = async ({ controlPlane, principal }: MemoryPlatform, account?: string) =>
  (await controlPlane.listVolumes(principal(account)))._unsafeUnwrap();
const trash = async ({ controlPlane, principal }: MemoryPlatform, account?: string) =>
  (await controlPlane.listTrash(principal(account)))._unsafeUnwrap();

/** Deletes the volume a moment after the previous one; returns its id. */
const trashed = async (platform: MemoryPlatform): Promise<string> => {
  (await create(platform))._unsafeUnwrap();
  const id = (await list(platform))[0]?.id ?? "";
  await platform.clock.advance(1000);
  (await remove(platform))._unsafeUnwrap();
  return id;
};

describe("create", () => {
  test("reports whether it existed", async () => {
    const platform = startMemory();
    const at = "2026-01-01T00:00:00+00:00";
    expect((await create(platform))._unsafeUnwrap()).toEqual({ name: "data", created: true, created_at: at });
    await platform.clock.advance(1000);
    expect((await create(platform))._unsafeUnwrap()).toEqual({ name: "data", created: false, created_at: at });
  });

  test.each([
    ["", "a volume name must not be empty"],
    ["Data", "a volume name must contain only lowercase letters a-z, digits and '-'"],
    ["my_data", "a volume name must contain only lowercase letters a-z, digits and '-'"],
    ["-a", "a volume name must start with a letter or a digit"],
    ["a-", "a volume name must not end with '-'"],
    ["a".repeat(41), "a volume name must be at most 40 characters; got 41"],
  ])("rejects the name '%s' with its rule", async (name, message) => {
    expect((await create(startMemory(), name))._unsafeUnwrapErr()).toMatchObject({
      kind: "invalid_input",
      issues: [{ path: ["name"], message, type: "string_pattern_mismatch" }],
    });
  });

  test("fails at the account's quota, except for an existing volume or another account", async () => {
    const platform = startMemory({ settings: { accountLimits: { volumes: 1 } } });
    (await create(platform))._unsafeUnwrap();
    expect((await create(platform, "second"))._unsafeUnwrapErr()).toMatchObject({
      kind: "invalid_input",
      issues: [
        {
          path: ["name"],
          message: "your account may have at most 1 volumes; delete one first",
          type: "quota_exceeded",
        },
      ],
    });
    expect((await create(platform))._unsafeUnwrap().created).toBe(false);
    expect((await create(platform, "second", "other"))._unsafeUnwrap().created).toBe(true);
  });
});

describe("list", () => {
  test("returns the account's own volumes by name, with the services that mount each", async () => {
    const platform = startMemory();
    for (const name of ["logs", "data"]) (await create(platform, name))._unsafeUnwrap();
    (await create(platform, "data", "other"))._unsafeUnwrap();
    await deployed(platform, { function_name: "web", ...mounting() });
    await deployed(platform, mounting());
    const shown = async () => (await list(platform)).map(({ name, attached_to }) => [name, attached_to]);
    expect(await shown()).toEqual([
      ["data", ["app", "web"]],
      ["logs", []],
    ]);
    await deployed(platform, mounting("logs"));
    expect(await shown()).toEqual([
      ["data", ["web"]],
      ["logs", ["app"]],
    ]);
    expect(await list(platform, "other")).toMatchObject([{ name: "data", attached_to: [] }]);
  });
});

describe("delete", () => {
  test("fails while it is mounted, naming the services that mount it", async () => {
    const platform = startMemory();
    await deployed(platform, mounting());
    expect((await remove(platform))._unsafeUnwrapErr()).toEqual({
      kind: "conflict",
      message: "The volume 'data' is mounted by 'app'. Deploy without the volume first, or remove that deployment.",
    });
    await deployed(platform, { function_name: "web", ...mounting() });
    expect((await remove(platform))._unsafeUnwrapErr().message).toBe(
      "The volume 'data' is mounted by 'app', 'web'. Deploy without the volume first, or remove those deployments.",
    );
    (await platform.controlPlane.deleteDeployment(platform.principal(), { name: "web" }))._unsafeUnwrap();
    await deployed(platform);
    expect((await remove(platform))._unsafeUnwrap()).toEqual({
      detail: "'data' was deleted. You can restore it for 7 days.",
    });
    expect(await list(platform)).toEqual([]);
  });

  test("a failed service that serves nothing mounts nothing", async () => {
    const crashed = { reason: "crashed", message: "It crashed" } as const;
    const platform = startMemory({
      around: ({ services }) => ({
        services: faulty(services, ({ method }) =>
          method === "rollout" ? { failure: crashed, after: false } : undefined,
        ),
      }),
    });
    await recordsOf(platform, await accepted(platform, mounting()));
    expect((await remove(platform)).isOk()).toBe(true);
  });

  test("returns 403 for another account's volume, and 404 for a missing one, even with an invalid name", async () => {
    const platform = startMemory();
    (await create(platform, "data", "other"))._unsafeUnwrap();
    expect((await remove(platform))._unsafeUnwrapErr()).toEqual({
      kind: "forbidden",
      message: "The volume 'data' belongs to another account.",
    });
    for (const name of ["none", "No Name At All"])
      expect((await remove(platform, name))._unsafeUnwrapErr()).toEqual(
        notFound(`Your account has no volume '${name}'.`),
      );
  });

  test("if the mounts cannot be read, the volume remains listed", async () => {
    // The first read is before the volume is hidden, the second after it.
    for (const count of [1, 2]) {
      const platform = startMemory({
        around: ({ services }) => ({
          services: faulty(services, (call) =>
            call.method === "list" && call.count === count ? { error: unavailable("down") } : undefined,
          ),
        }),
      });
      (await create(platform))._unsafeUnwrap();
      expect((await remove(platform))._unsafeUnwrapErr().kind).toBe("unavailable");
      expect(await list(platform)).toMatchObject([{ name: "data" }]);
      expect((await remove(platform)).isOk()).toBe(true);
    }
  });

  test("a volume that cannot be moved to the trash is listed again", async () => {
    const platform = startMemory({
      around: ({ volumes }) => ({
        volumes: faulty(volumes, (call) =>
          call.method === "moveToTrash" && call.count === 1 ? { error: unavailable("down") } : undefined,
        ),
      }),
    });
    (await create(platform))._unsafeUnwrap();
    expect((await remove(platform))._unsafeUnwrapErr().kind).toBe("unavailable");
    expect(await list(platform)).toMatchObject([{ name: "data" }]);
    expect(await trash(platform)).toEqual([]);
  });

  test("during a delete, every other call on the volume fails with conflict", async () => {
    const platform = startMemory();
    (await create(platform))._unsafeUnwrap();
    const { volumes } = platform.memory.provider;
    const [own] = (await volumes.list(platform.principal().account))._unsafeUnwrap();
    if (own !== undefined) (await volumes.beginDelete(own))._unsafeUnwrap();
    const decided = { kind: "conflict", message: "The volume 'data' is being deleted. Try again in a moment." };
    expect((await remove(platform))._unsafeUnwrapErr()).toEqual(decided);
    const { controlPlane, principal } = platform;
    expect((await controlPlane.listObjects(principal(), { volume: "data" }))._unsafeUnwrapErr()).toEqual(decided);
    expect((await create(platform))._unsafeUnwrapErr().kind).toBe("conflict");
  });
});

describe("trash", () => {
  test("lists deleted volumes newest first, for exactly 7 days", async () => {
    const platform = startMemory();
    const first = await trashed(platform);
    const second = await trashed(platform);
    expect(await trash(platform)).toEqual([
      { name: "data", id: second, deleted_at: "2026-01-01T00:00:02+00:00", expires_at: "2026-01-08T00:00:02+00:00" },
      { name: "data", id: first, deleted_at: "2026-01-01T00:00:01+00:00", expires_at: "2026-01-08T00:00:01+00:00" },
    ]);
    expect(await trash(platform, "other")).toEqual([]);
    await platform.clock.advance(7 * DAY - 1001);
    expect(await trash(platform)).toHaveLength(2);
    await platform.clock.advance(1);
    expect((await trash(platform)).map(({ id }) => id)).toEqual([second]);
  });
});

describe("restore", () => {
  test("restores the newest volume of the name, or the one with the given id", async () => {
    const platform = startMemory();
    const first = await trashed(platform);
    const second = await trashed(platform);
    const back = (await restore(platform))._unsafeUnwrap();
    expect(back).toMatchObject({ name: "data", id: second, attached_to: [] });
    expect(await list(platform)).toEqual([back]);
    (await remove(platform))._unsafeUnwrap();
    expect((await restore(platform, { id: first }))._unsafeUnwrap().id).toBe(first);
  });

  test("fails while a volume of the name exists", async () => {
    const platform = startMemory();
    await trashed(platform);
    (await create(platform))._unsafeUnwrap();
    expect((await restore(platform))._unsafeUnwrapErr()).toEqual({
      kind: "conflict",
      message:
        "Your account already has a volume 'data'. Delete it before you restore a deleted volume of the same name.",
    });
  });

  test("returns 404 for a wrong name or id and after 7 days, and 403 if another account has a live volume", async () => {
    const platform = startMemory();
    const id = await trashed(platform);
    const none = notFound("No deleted volume 'data' can be restored. Deleted volumes can be restored for 7 days.");
    expect((await restore(platform, {}, "other"))._unsafeUnwrapErr()).toEqual(none);
    expect((await restore(platform, { id }, "other"))._unsafeUnwrapErr()).toEqual(none);
    expect((await restore(platform, { id: "vol-none" }))._unsafeUnwrapErr()).toEqual(none);
    expect((await restore(platform, { name: "logs", id }))._unsafeUnwrapErr().kind).toBe("not_found");
    (await create(platform, "data", "third"))._unsafeUnwrap();
    expect((await restore(platform, {}, "other"))._unsafeUnwrapErr().kind).toBe("forbidden");
    await platform.clock.advance(7 * DAY);
    expect((await restore(platform, { id }))._unsafeUnwrapErr().kind).toBe("forbidden");
    (await remove(platform, "data", "third"))._unsafeUnwrap();
    expect((await restore(platform, { id }))._unsafeUnwrapErr()).toEqual(none);
  });

  test("counts towards the quota of volumes", async () => {
    const platform = startMemory({ settings: { accountLimits: { volumes: 1 } } });
    await trashed(platform);
    (await create(platform, "logs"))._unsafeUnwrap();
    expect((await restore(platform))._unsafeUnwrapErr()).toMatchObject({
      issues: [{ path: ["name"], type: "quota_exceeded" }],
    });
    (await remove(platform, "logs"))._unsafeUnwrap();
    expect((await restore(platform)).isOk()).toBe(true);
  });

  test("a waiting deploy succeeds if its volume is restored in time, and the response lists the mounts", async () => {
    const clock = createManualClock();
    const platform = startMemory({ clock });
    (await create(platform))._unsafeUnwrap();
    const { services, volumes } = platform.memory.provider;
    let answer: unknown;
    const meanwhile = startMemory({
      clock,
      memory: platform.memory,
      around: () => ({
        services: {
          ...services,
          rollout: (request, options) =>
            services.rollout(
              {
                ...request,
                mayServe: async () => {
                  const [own] = (await volumes.list(platform.principal().account))._unsafeUnwrap();
                  if (own === undefined) throw new Error("the volume does not exist");
                  // Acts like a replica that read the templates before the new one was visible.
                  (await volumes.beginDelete(own))._unsafeUnwrap();
                  (await volumes.moveToTrash(own, own.createdAt))._unsafeUnwrap();
                  answer = (await restore(platform))._unsafeUnwrap();
                  return request.mayServe?.();
                },
              },
              options,
            ),
        },
      }),
    });
    expect(recordTexts(await deployed(meanwhile, mounting())).at(-1)).toBe(
      "DONE Revision app-00001 serves all traffic",
    );
    expect(answer).toMatchObject({ attached_to: ["app"] });
  });
});

test("without volumes, every call returns the provider's reason", async () => {
  const none = missing("this provider has no storage");
  const { volumes } = startMemory().memory.provider.capabilities;
  const platform = startMemory({ capabilities: { volumes: { ...volumes, store: none } } });
  const { controlPlane, principal } = platform;
  const data = { volume: "data", path: "a" };
  for (const call of [
    create(platform),
    remove(platform),
    restore(platform),
    controlPlane.listVolumes(principal()),
    controlPlane.listTrash(principal()),
    controlPlane.listObjects(principal(), { volume: "data" }),
    controlPlane.deleteObject(principal(), data),
    controlPlane.grantUpload(principal(), data),
    controlPlane.grantDownload(principal(), data),
  ]) {
    const error = (await call)._unsafeUnwrapErr();
    expect(error.kind).toBe("unsupported");
    expect(error.message).toContain("this provider has no storage");
  }
});
