/** Signed S3 URLs: their expiry with temporary credentials, and multipart uploads. */
import { S3Client } from "@aws-sdk/client-s3";
import { describe, expect, test } from "vitest";
import { liveLifecycle, trashLifecycle } from "../../../../adapters/aws/volumes/bucket-settings.ts";
import type { ObjectPath } from "../../../../core/domain/volumes/object-path.ts";
import { instantOfMillis, millisOf } from "../../../../core/domain/wire/instant.ts";
import { account, data, inAMinute, objectPath, put } from "../../../clouds/volumes/steps.ts";
import { expectError, expectOk } from "../../../contracts/support.ts";
import { bucketOf, fake } from "./steps.ts";
import { volumesOver } from "./subject.ts";

const at = (millis: number) => instantOfMillis(Date.now() + millis);
const HOUR_MS = 3_600_000;

describe("grants", () => {
  test("expire at the requested time, but after at most seven days, the limit of a signature", async () => {
    const { volume } = await expectOk(volumesOver(fake).create(account(), data));
    const until = at(90_500);
    const soon = await expectOk(volumesOver(fake).grantDownload(volume, objectPath, until));
    expect(millisOf(until) - millisOf(soon.expiresAt)).toBeLessThan(1000);
    expect(soon.expiresAt <= until).toBe(true);
    const late = await expectOk(volumesOver(fake).grantDownload(volume, objectPath, at(30 * 24 * HOUR_MS)));
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
    const { url } = await expectOk(volumesOver(fake).grantUpload(volume, objectPath, inAMinute()));
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
    const { expiresAt, url } = await expectOk(volumesOver({ client }).grantUpload(volume, objectPath, until));
    expect([millisOf(until) - millisOf(expiresAt) < 1000, asked()]).toEqual([true, 1]);
    expect((await fetch(url, { method: "PUT", body: "x" })).status).toBe(200);
  });

  test("are refreshed once if they expire before the URL", async () => {
    const volume = await made();
    const { client, asked } = lasting(HOUR_MS / 2, 6 * HOUR_MS);
    const until = at(HOUR_MS);
    const { expiresAt, url } = await expectOk(volumesOver({ client }).grantUpload(volume, objectPath, until));
    expect([millisOf(until) - millisOf(expiresAt) < 1000, asked()]).toEqual([true, 2]);
    expect(new URL(url).searchParams.get("X-Amz-Security-Token")).toBe("token-1");
  });

  test("shorten the URL's reported expiry if none are newer, and are not refreshed for each URL", async () => {
    const volume = await made();
    const { client, asked } = lasting(HOUR_MS / 2);
    const volumes = volumesOver({ client });
    for (let times = 0; times < 3; times++) {
      const { expiresAt, url } = await expectOk(volumes.grantDownload(volume, objectPath, at(HOUR_MS)));
      expect(millisOf(expiresAt)).toBeLessThanOrEqual(Date.now() + HOUR_MS / 2);
      expect(Number(new URL(url).searchParams.get("X-Amz-Expires"))).toBeLessThanOrEqual(1800);
    }
    expect(asked()).toBe(2);
  });

  test("sign nothing after their expiry", async () => {
    const volume = await made();
    const { client } = lasting(-1000);
    const error = await expectError(volumesOver({ client }).grantDownload(volume, objectPath, inAMinute()));
    expect(error).toMatchObject({ kind: "unavailable", message: expect.stringContaining("have expired") });
  });

  test("that are missing fail with `unavailable`", async () => {
    const volume = await made();
    const credentials = async () => {
      throw Object.assign(new Error("no credentials"), { name: "CredentialsProviderError" });
    };
    const client = new S3Client({ ...fake.clientConfig, credentials });
    expect((await expectError(volumesOver({ client }).grantUpload(volume, objectPath, inAMinute()))).kind).toBe(
      "unavailable",
    );
  });
});

test.each([
  ["eu-central-1", {}, "https://*.s3.eu-central-1.amazonaws.com"],
  ["us-east-1", {}, "https://*.s3.us-east-1.amazonaws.com"],
  ["cn-north-1", {}, "https://*.s3.cn-north-1.amazonaws.com.cn"],
  ["eu-central-1", { endpoint: "https://s3.example:9000", forcePathStyle: true }, "https://s3.example:9000"],
])("the origins of URLs in %s with %j are %s", async (region, config, origin) => {
  const client = new S3Client({ region, credentials: { accessKeyId: "a", secretAccessKey: "b" }, ...config });
  expect(await expectOk(volumesOver({ client }).grantOrigins())).toEqual([origin]);
});

describe("uploads in parts", () => {
  test("sign the length of a part and no checksum, and list more than one page of parts", async () => {
    const volumes = volumesOver(fake);
    const { volume } = await expectOk(volumes.create(account(), data));
    const id = await expectOk(volumes.uploadsInParts.begin(volume, objectPath));
    const parts = Array.from({ length: 1001 }, (_, index) => ({ number: index + 1, offset: index, length: 1 }));
    const { urls, expiresAt } = await expectOk(
      volumes.uploadsInParts.grant({ volume, path: objectPath, id }, parts.slice(0, 2), at(HOUR_MS)),
    );
    expect(expiresAt > at(HOUR_MS - 2000)).toBe(true);
    for (const url of urls) {
      expect(new URL(url).searchParams.get("X-Amz-SignedHeaders")).toBe("content-length;host");
      expect(url).not.toContain("checksum");
    }
    const upload = bucketOf(volume).uploads.get(id);
    for (const { number } of parts) upload?.parts.set(number, { bytes: Buffer.from("x"), etag: `"${number}"` });
    const stored = await expectOk(volumes.uploadsInParts.stored({ volume, path: objectPath, id }));
    expect(stored.map(({ number }) => number)).toEqual(parts.map(({ number }) => number));
    expect(stored.at(-1)).toEqual({ number: 1001, size: 1, etag: '"1001"' });
  });

  test("are deleted by S3 a day after their start, even in the trash", () => {
    const rules = [...liveLifecycle(), ...trashLifecycle({}, at(0))];
    expect(rules.filter((rule) => rule.AbortIncompleteMultipartUpload?.DaysAfterInitiation === 1)).toHaveLength(2);
  });

  test("of a missing volume fail with not_found", async () => {
    const volumes = volumesOver(fake);
    const { volume } = await expectOk(volumes.create(account(), data));
    const gone = { ...volume, id: `${volume.id.slice(0, -1)}${volume.id.endsWith("0") ? "1" : "0"}` };
    expect((await expectError(volumes.uploadsInParts.begin(gone, objectPath))).kind).toBe("not_found");
  });
});
