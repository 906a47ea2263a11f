/** Resumable uploads: URLs for the parts of an object of any size, and their resumption. */
import { afterEach, describe, expect, test } from "vitest";
import { MiB, pendingUploadsMax } from "../../../../core/domain/accounts/limits.ts";
import { formatUploadId, parseUploadId, type ResumableUpload } from "../../../../core/domain/volumes/upload-id.ts";
import type { MultipartGrant } from "../../../../core/domain/volumes/volume.ts";
import { missing } from "../../../../core/domain/wire/capabilities.ts";
import { completeUpload, putPart } from "../../../contracts/volume-uploads.ts";
import { type MemoryPlatform, startMemory } from "../../../support/providers/memory-platform.ts";

const HOUR = 3_600_000;
const opened: MemoryPlatform[] = [];
afterEach(() => Promise.all(opened.splice(0).map(({ memory }) => memory.close())));

const start = async (options: Parameters<typeof startMemory>[0] = {}): Promise<MemoryPlatform> => {
  const platform = startMemory(options);
  opened.push(platform);
  for (const account of ["acme", "other"])
    (await platform.controlPlane.createVolume(platform.principal(account), { name: "data" }))._unsafeUnwrap();
  return platform;
};

const SIZE = 16 * MiB + 5;

const begin = async ({ controlPlane, principal }: MemoryPlatform, size = SIZE): Promise<MultipartGrant> => {
  const request = { volume: "data", object: "a", resumable: true, size };
  const grant = (await controlPlane.grantUpload(principal(), request))._unsafeUnwrap();
  if (!("parts" in grant)) throw new Error("a resumable upload must be in parts");
  return grant;
};

const resume = ({ controlPlane, principal }: MemoryPlatform, upload_id: string, account = "acme") =>
  controlPlane.resumeUpload(principal(account), { upload_id });

const sendPart = ({ parts }: MultipartGrant, number: number): Promise<string> => {
  const part = parts[number - 1];
  return putPart(part?.url, new Uint8Array(part?.length ?? 0).fill(number));
};

const change = ({ upload_id }: MultipartGrant, values: Partial<ResumableUpload>): string =>
  formatUploadId({ ...(parseUploadId(upload_id) as ResumableUpload), ...values });

describe("a resumable upload", () => {
  test("has parts even if a PUT may have any size", async () => {
    const grant = await begin(await start());
    expect(grant).toMatchObject({
      upload_id: expect.stringMatching(/^[\w-]+$/),
      parts: [
        { number: 1, offset: 0, length: 16 * MiB },
        { number: 2, offset: 16 * MiB, length: 5 },
      ],
      complete_url: expect.stringMatching(/^http/),
      expires_at: "2026-01-01T01:00:00+00:00",
    });
    expect(grant.parts.some((part) => "etag" in part)).toBe(false);
  });

  test("resumes with the parts that the storage has, and new URLs", async () => {
    const platform = await start();
    const grant = await begin(platform);
    const etag = await sendPart(grant, 1);
    await platform.clock.advance(2 * HOUR);
    const resumed = (await resume(platform, grant.upload_id))._unsafeUnwrap();
    expect(resumed).toMatchObject({
      upload_id: grant.upload_id,
      parts: [{ number: 1, etag }, { number: 2 }],
      expires_at: "2026-01-01T03:00:00+00:00",
    });
    expect(resumed.parts[1]).not.toHaveProperty("etag");
    const last = await sendPart(resumed, 2);
    const done = await completeUpload(resumed.complete_url, [
      [1, etag],
      [2, last],
    ]);
    expect(done).toBe(true);
    const page = (await platform.controlPlane.listObjects(platform.principal(), { volume: "data" }))._unsafeUnwrap();
    expect(page.objects).toMatchObject([{ path: "a", size: SIZE }]);
    expect((await resume(platform, grant.upload_id))._unsafeUnwrapErr().kind).toBe("not_found");
  });

  test("expires after 24 hours, and so do its URLs", async () => {
    const platform = await start();
    const grant = await begin(platform);
    await platform.clock.advance(24 * HOUR - 60_000);
    const resumed = (await resume(platform, grant.upload_id))._unsafeUnwrap();
    expect(resumed.expires_at).toBe("2026-01-02T00:00:00+00:00");
    await platform.clock.advance(60_000);
    expect((await resume(platform, grant.upload_id))._unsafeUnwrapErr().kind).toBe("not_found");
    // Another upload deletes the expired one.
    await begin(platform);
    const { volumes } = platform.memory.snapshot();
    expect([...volumes.values()].flatMap(({ uploads }) => [...uploads.values()])).toHaveLength(1);
  });

  test.each([24, 48])("does not begin while its volume has 1,000 incomplete uploads, for %d hours", async (hours) => {
    const platform = await start({
      around: ({ capabilities }) => ({
        capabilities: { ...capabilities, volumes: { ...capabilities.volumes, incomplete_upload_hours: hours } },
      }),
    });
    const { controlPlane, principal, clock } = platform;
    const request = { volume: "data", object: "a", resumable: true, size: 1 };
    for (let n = 0; n < pendingUploadsMax; n++) (await controlPlane.grantUpload(principal(), request))._unsafeUnwrap();
    expect((await controlPlane.grantUpload(principal(), request))._unsafeUnwrapErr()).toMatchObject({
      kind: "invalid_input",
      issues: [
        {
          path: ["volume"],
          message: `has 1000 incomplete uploads, which is the maximum; complete some of them, or wait until the storage deletes them, usually within ${hours} hours after their start`,
          type: "quota_exceeded",
        },
      ],
    });
    (await controlPlane.grantUpload(principal("other"), request))._unsafeUnwrap();
    await clock.advance(24 * HOUR);
    expect((await controlPlane.grantUpload(principal(), request)).isOk()).toBe(true);
  });

  test("requires the size of the object", async () => {
    const { controlPlane, principal } = await start();
    for (const size of [0, undefined]) {
      const request = { volume: "data", object: "a", resumable: true, size };
      expect((await controlPlane.grantUpload(principal(), request))._unsafeUnwrapErr()).toMatchObject({
        kind: "invalid_input",
        issues: [{ path: ["size"], type: "missing" }],
      });
    }
  });

  test("fails with `unsupported` if the provider lacks the capability", async () => {
    const platform = await start({
      around: ({ capabilities }) => ({
        capabilities: {
          ...capabilities,
          volumes: { ...capabilities.volumes, resumable_uploads: missing("the storage has no parts") },
        },
      }),
    });
    const { controlPlane, principal } = platform;
    const request = { volume: "data", object: "a", resumable: true, size: 1 };
    expect((await controlPlane.grantUpload(principal(), request))._unsafeUnwrapErr().kind).toBe("unsupported");
    expect((await resume(platform, "x"))._unsafeUnwrapErr().kind).toBe("unsupported");
  });
});

describe("the id of an upload", () => {
  test("does not work for another account, even one with a volume of the same name", async () => {
    const platform = await start();
    const { upload_id } = await begin(platform);
    expect((await resume(platform, upload_id, "other"))._unsafeUnwrapErr().kind).toBe("not_found");
    const { controlPlane, principal } = platform;
    (await controlPlane.deleteVolume(principal("other"), { name: "data" }))._unsafeUnwrap();
    expect((await resume(platform, upload_id, "other"))._unsafeUnwrapErr().kind).toBe("not_found");
  });

  test("does not exist if it is forged", async () => {
    const platform = await start();
    const grant = await begin(platform);
    const { upload_id } = grant;
    const theirs = await platform.controlPlane.listVolumes(platform.principal("other"));
    const bucket = theirs._unsafeUnwrap()[0]?.id ?? "";
    const forged = [
      ...["", "x", "W10", "%", `${upload_id}A`, upload_id.slice(4), "=".repeat(4000)],
      change(grant, { bucket }),
      change(grant, { path: "b" as never }),
      change(grant, { path: "../a" as never }),
      change(grant, { id: "other" }),
      change(grant, { volume: "none" as never }),
      change(grant, { size: -1 }),
      change(grant, { size: Number.MAX_SAFE_INTEGER }),
    ];
    for (const id of forged) expect((await resume(platform, id))._unsafeUnwrapErr().kind).toBe("not_found");
    expect((await resume(platform, upload_id)).isOk()).toBe(true);
  });

  test("with a different size grants URLs that cannot complete the stored parts", async () => {
    const platform = await start();
    const grant = await begin(platform, 10);
    const etag = await sendPart(grant, 1);
    const forged = (await resume(platform, change(grant, { size: 9 })))._unsafeUnwrap();
    expect(forged.parts[0]).not.toHaveProperty("etag");
    expect(await completeUpload(forged.complete_url, [[1, etag]])).toBe(false);
  });

  test("does not exist after its volume was deleted, even if the volume is restored", async () => {
    const platform = await start();
    const { upload_id } = await begin(platform);
    const { controlPlane, principal } = platform;
    (await controlPlane.deleteVolume(principal(), { name: "data" }))._unsafeUnwrap();
    (await controlPlane.createVolume(principal(), { name: "data" }))._unsafeUnwrap();
    expect((await resume(platform, upload_id))._unsafeUnwrapErr().kind).toBe("not_found");
    (await controlPlane.deleteVolume(principal(), { name: "data" }))._unsafeUnwrap();
    const { bucket = "" } = parseUploadId(upload_id) ?? {};
    (await controlPlane.restoreVolume(principal(), { name: "data", id: bucket }))._unsafeUnwrap();
    expect((await resume(platform, upload_id))._unsafeUnwrapErr().kind).toBe("not_found");
  });
});
