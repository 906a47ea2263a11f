/** Signed S3 URLs: their expiry with temporary credentials, and multipart uploads. */
import { S3Client } from "@aws-sdk/client-s3";
import { describe, expect, test } from "vitest";
import { partsOf, putMax } from "../../../../adapters/aws/volumes/uploads.ts";
import { GiB, MiB } from "../../../../core/domain/accounts/limits.ts";
import type { ObjectPath } from "../../../../core/domain/volumes/object-path.ts";
import { instantOfMillis, millisOf } from "../../../../core/domain/wire/instant.ts";
import { a, account, data, inAMinute, put } from "../../../clouds/volumes/steps.ts";
import { expectError, expectOk } from "../../../contracts/support.ts";
import { bucketOf, fake } from "./steps.ts";
import { volumesOver } from "./subject.ts";

const at = (millis: number) => instantOfMillis(Date.now() + millis);
const HOUR_MS = 3_600_000;

describe("grants", () => {
  test("expire at the requested time, and after the seven days of a signature at most", async () => {
    const { volume } = await expectOk(volumesOver(fake).create(account(), data));
    const until = at(90_500);
    const soon = await expectOk(volumesOver(fake).grantDownload(volume, a, until));
    expect(millisOf(until) - millisOf(soon.expiresAt)).toBeLessThan(1000);
    expect(soon.expiresAt <= until).toBe(true);
    const late = await expectOk(volumesOver(fake).grantDownload(volume, a, at(30 * 24 * HOUR_MS)));
    expect(Number(new URL(late.url).searchParams.get("X-Amz-Expires"))).toBeLessThanOrEqual(604_800);
    expect(millisOf(late.expiresAt)).toBeLessThanOrEqual(Date.now() + 604_800_000);
  });

  test("set a download's content type by its name, whatever type the upload had", async () => {
    const volumes = volumesOver(fake);
    const { volume } = await expectOk(volumes.create(account(), data));
    await put(volumes, volume, "page.css", "a {}");
    const { url } = await expectOk(volumes.grantDownload(volume, "page.css" as ObjectPath, inAMinute()));
    expect((await fetch(url)).headers.get("content-type")).toMatch(/^text\/css/);
  });

  test("of uploads contain no checksum of an absent body", async () => {
    const { volume } = await expectOk(volumesOver(fake).create(account(), data));
    const { url } = await expectOk(volumesOver(fake).grantUpload(volume, a, inAMinute()));
    expect(url).not.toContain("checksum");
  });
});

describe("expiring credentials", () => {
  /** A client whose credentials are valid for the given numbers of milliseconds, one for each refresh. */
  const lasting = (...millis: readonly number[]) => {
    let asked = 0;
    const sessions = millis.map((left, index) => ({
      accessKeyId: `ASIA${index}${Math.random().toString(36).slice(2)}`,
      secretAccessKey: "secret",
      sessionToken: `token-${index}`,
      expiration: new Date(Date.now() + left),
    }));
    fake.credentials.push(...sessions);
    const credentials = async () => sessions[Math.min(asked++, sessions.length - 1)] as (typeof sessions)[number];
    const client = new S3Client({ ...fake.clientConfig, credentials });
    return { client, asked: () => asked };
  };

  const made = async () => (await expectOk(volumesOver(fake).create(account(), data))).volume;

  test("that last long enough sign without a refresh", async () => {
    const volume = await made();
    const { client, asked } = lasting(6 * HOUR_MS);
    const until = at(HOUR_MS);
    const { expiresAt, url } = await expectOk(volumesOver({ client }).grantUpload(volume, a, until));
    expect([millisOf(until) - millisOf(expiresAt) < 1000, asked()]).toEqual([true, 1]);
    expect((await fetch(url, { method: "PUT", body: "x" })).status).toBe(200);
  });

  test("are refreshed once if they expire before the URL", async () => {
    const volume = await made();
    const { client, asked } = lasting(HOUR_MS / 2, 6 * HOUR_MS);
    const until = at(HOUR_MS);
    const { expiresAt, url } = await expectOk(volumesOver({ client }).grantUpload(volume, a, until));
    expect([millisOf(until) - millisOf(expiresAt) < 1000, asked()]).toEqual([true, 2]);
    expect(new URL(url).searchParams.get("X-Amz-Security-Token")).toBe("token-1");
  });

  test("shorten the URL's reported expiry if none are newer, and are not refreshed for each URL", async () => {
    const volume = await made();
    const { client, asked } = lasting(HOUR_MS / 2);
    const volumes = volumesOver({ client });
    for (let times = 0; times < 3; times++) {
      const { expiresAt, url } = await expectOk(volumes.grantDownload(volume, a, at(HOUR_MS)));
      expect(millisOf(expiresAt)).toBeLessThanOrEqual(Date.now() + HOUR_MS / 2);
      expect(Number(new URL(url).searchParams.get("X-Amz-Expires"))).toBeLessThanOrEqual(1800);
    }
    expect(asked()).toBe(2);
  });

  test("sign nothing after their expiry", async () => {
    const volume = await made();
    const { client } = lasting(-1000);
    const error = await expectError(volumesOver({ client }).grantDownload(volume, a, inAMinute()));
    expect(error).toMatchObject({ kind: "unavailable", message: expect.stringContaining("have expired") });
  });

  test("that are missing fail with `unavailable`", async () => {
    const volume = await made();
    const credentials = async () => {
      throw Object.assign(new Error("no credentials"), { name: "CredentialsProviderError" });
    };
    const client = new S3Client({ ...fake.clientConfig, credentials });
    expect((await expectError(volumesOver({ client }).grantUpload(volume, a, inAMinute()))).kind).toBe("unavailable");
  });
});

describe("multipart uploads", () => {
  test.each([
    [putMax + 1, 11],
    [256 * 512 * MiB, 256],
    [1024 * GiB, 256],
    [50_000 * GiB, 10_000],
  ])("of %i bytes have %i consecutive parts of valid size", (size, count) => {
    const parts = partsOf(size);
    expect(parts).toHaveLength(count);
    expect(parts.reduce((end, part) => (part.offset === end ? end + part.length : -1), 0)).toBe(size);
    expect(parts.every(({ length }) => length <= 5 * GiB)).toBe(true);
    expect(parts.slice(0, -1).every(({ length }) => length >= 5 * MiB)).toBe(true);
  });

  test("replace the object only when they are complete", async () => {
    const volumes = volumesOver(fake);
    const { volume } = await expectOk(volumes.create(account(), data));
    await put(volumes, volume, "a", "before");
    const size = 1024 * MiB + 5;
    const { parts, completeUrl, expiresAt } = await expectOk(
      volumes.uploadsInParts.grant(volume, a, size, at(HOUR_MS)),
    );
    expect(expiresAt > at(HOUR_MS - 2000)).toBe(true);
    expect(parts.map(({ offset }) => offset)).toEqual([0, 512 * MiB, 1024 * MiB]);
    fake.world.partMin = 1;
    const etags: string[] = [];
    for (const [index, { url }] of parts.entries()) {
      const sent = await fetch(url, { method: "PUT", body: `part ${index}` });
      etags.push(sent.headers.get("etag") ?? "");
    }
    expect(bucketOf(volume).objects.get("a")?.bytes.toString()).toBe("before");
    const listed = etags.map((tag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${tag}</ETag></Part>`);
    const body = `<CompleteMultipartUpload>${listed.join("")}</CompleteMultipartUpload>`;
    const done = await fetch(completeUrl, { method: "POST", body });
    expect([done.status, (await done.text()).includes("CompleteMultipartUploadResult")]).toEqual([200, true]);
    expect(bucketOf(volume).objects.get("a")?.bytes.toString()).toBe("part 0part 1part 2");
    expect(bucketOf(volume).uploads.size).toBe(0);
    fake.world.partMin = 5 * MiB;
  });

  test("of a missing volume fail with not_found", async () => {
    const volumes = volumesOver(fake);
    const { volume } = await expectOk(volumes.create(account(), data));
    const gone = { ...volume, id: `${volume.id.slice(0, -1)}${volume.id.endsWith("0") ? "1" : "0"}` };
    expect((await expectError(volumes.uploadsInParts.grant(gone, a, 6 * GiB, inAMinute()))).kind).toBe("not_found");
  });
});
