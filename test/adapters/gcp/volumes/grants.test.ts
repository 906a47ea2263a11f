/** Signed URLs of Cloud Storage: with and without a key, and their lifetime. */
import { Storage } from "@google-cloud/storage";
import { Impersonated, PassThroughClient } from "google-auth-library";
import { describe, expect, test } from "vitest";
import type { ObjectPath } from "../../../../core/domain/volumes/object-path.ts";
import { instantOfMillis, millisOf } from "../../../../core/domain/wire/instant.ts";
import type { UploadsInParts } from "../../../../core/ports/volume-store.ts";
import { account, data, inAMinute, objectPath, put } from "../../../clouds/volumes/steps.ts";
import { expectError, expectOk } from "../../../contracts/support.ts";
import { silentLogger } from "../../../support/logs/silent-logger.ts";
import { bucketOf, fake } from "./steps.ts";
import { volumesOver } from "./subject.ts";

describe("grants", () => {
  const keyless = () => {
    const authClient = new Impersonated({
      sourceClient: new PassThroughClient(),
      targetPrincipal: fake.email,
      targetScopes: [],
      endpoint: fake.url,
    });
    return volumesOver(fake, { storage: new Storage({ ...fake.storageClientOptions, authClient }) });
  };

  test("are signed by IAM if the credentials have no key", async () => {
    const volumes = keyless();
    const { volume } = await expectOk(volumes.create(account(), data));
    fake.faults.clear();
    await put(volumes, volume, "ünï cödé/%2F+.txt", "signed");
    expect(fake.faults.log).toEqual(["iam.signBlob", "storage.xml.put"]);
    const { url } = await expectOk(volumes.grantDownload(volume, "ünï cödé/%2F+.txt" as ObjectPath, inAMinute()));
    expect(await (await fetch(url)).text()).toBe("signed");
  });

  test("are unavailable if IAM refuses to sign, and the log names the missing permission", async () => {
    const logged: string[] = [];
    const logger = { ...silentLogger, error: (message: string) => void logged.push(message) };
    const authClient = new Impersonated({
      sourceClient: new PassThroughClient(),
      targetPrincipal: "unknown",
      endpoint: fake.url,
    });
    const storage = new Storage({ ...fake.storageClientOptions, authClient });
    const volumes = volumesOver(fake, { logger, storage });
    const { volume } = await expectOk(volumes.create(account(), data));
    expect((await expectError(volumes.grantUpload(volume, objectPath, inAMinute()))).kind).toBe("unavailable");
    expect(logged).toEqual([expect.stringContaining("iam.serviceAccounts.signBlob")]);
  });

  test("expire at the requested time, but after at most twelve hours", async () => {
    const { volume } = await expectOk(volumesOver(fake).create(account(), data));
    const until = instantOfMillis(Date.now() + 90_500);
    const soon = await expectOk(volumesOver(fake).grantDownload(volume, objectPath, until));
    expect(millisOf(until) - millisOf(soon.expiresAt)).toBeLessThan(1000);
    expect(soon.expiresAt <= until).toBe(true);
    const late = await expectOk(
      volumesOver(fake).grantDownload(volume, objectPath, instantOfMillis(Date.now() + 30 * 86_400_000)),
    );
    expect(millisOf(late.expiresAt)).toBeLessThanOrEqual(Date.now() + 12 * 3_600_000);
    const { searchParams } = new URL(late.url);
    expect(Number(searchParams.get("X-Goog-Expires"))).toBeLessThanOrEqual(12 * 3600);
  });

  test("set a download's content type by its name, whatever type the upload had", async () => {
    const volumes = volumesOver(fake);
    const { volume } = await expectOk(volumes.create(account(), data));
    await put(volumes, volume, "page.css", "a {}");
    const { url } = await expectOk(volumes.grantDownload(volume, "page.css" as ObjectPath, inAMinute()));
    expect((await fetch(url)).headers.get("content-type")).toMatch(/^text\/css/);
  });
});

describe("uploads in parts", () => {
  const begun = async (volumes = volumesOver(fake)) => {
    const { volume } = await expectOk(volumes.create(account(), data));
    const uploads = volumes.uploadsInParts as UploadsInParts;
    return {
      uploads,
      volume,
      upload: { volume, path: objectPath, id: await expectOk(uploads.begin(volume, objectPath)) },
    };
  };

  test("sign the length of a part, and list more than one page of parts", async () => {
    const { uploads, volume, upload } = await begun();
    const parts = Array.from({ length: 1001 }, (_, index) => ({ number: index + 1, offset: index, length: 1 }));
    const { urls } = await expectOk(uploads.grant(upload, parts.slice(0, 45), inAMinute()));
    expect(urls.map((url) => new URL(url).searchParams.get("partNumber"))).toEqual(
      parts.slice(0, 45).map(({ number }) => String(number)),
    );
    for (const url of urls) expect(new URL(url).searchParams.get("X-Goog-SignedHeaders")).toBe("content-length;host");
    const found = bucketOf(volume).uploads.get(upload.id);
    for (const { number } of parts) found?.parts.set(number, { bytes: Buffer.from("x"), etag: `"${number}"` });
    const stored = await expectOk(uploads.stored(upload));
    expect(stored.map(({ number }) => number)).toEqual(parts.map(({ number }) => number));
    expect(stored.at(-1)).toEqual({ number: 1001, size: 1, etag: '"1001"' });
  });

  test("make the bucket delete incomplete uploads after a day, and keep its other rules", async () => {
    const { uploads, volume } = await begun();
    const abort = { action: { type: "AbortIncompleteMultipartUpload" }, condition: { age: 1 } };
    expect(bucketOf(volume).settings["lifecycle"]).toEqual({ rule: [abort] });
    const other = { action: { type: "Delete" }, condition: { age: 365 } };
    bucketOf(volume).settings["lifecycle"] = { rule: [other] };
    await expectOk(uploads.begin(volume, objectPath));
    expect(bucketOf(volume).settings["lifecycle"]).toEqual({ rule: [other, abort] });
    const { metageneration } = bucketOf(volume);
    await expectOk(uploads.begin(volume, objectPath));
    expect(bucketOf(volume).metageneration).toBe(metageneration);
  });

  test.each([
    ["for some objects", { age: 1, matchesPrefix: ["tmp/"] }],
    ["later than a day", { age: 7 }],
    ["without an age", { matchesSuffix: [".log"] }],
  ])("add their rule to an operator's rule that deletes incomplete uploads %s", async (_, condition) => {
    const { uploads, volume } = await begun();
    const action = { type: "AbortIncompleteMultipartUpload" };
    bucketOf(volume).settings["lifecycle"] = { rule: [{ action, condition }] };
    await expectOk(uploads.begin(volume, objectPath));
    expect(bucketOf(volume).settings["lifecycle"]).toEqual({
      rule: [
        { action, condition },
        { action, condition: { age: 1 } },
      ],
    });
  });

  test("add no rule if an operator's rule deletes all incomplete uploads within a day", async () => {
    const { uploads, volume } = await begun();
    const rule = [{ action: { type: "AbortIncompleteMultipartUpload" }, condition: { age: 0, matchesPrefix: [] } }];
    bucketOf(volume).settings["lifecycle"] = { rule };
    await expectOk(uploads.begin(volume, objectPath));
    expect(bucketOf(volume).settings["lifecycle"]).toEqual({ rule });
  });

  test("begin even if the bucket changes concurrently, and after a temporary error", async () => {
    const { uploads, volume } = await begun();
    bucketOf(volume).settings["lifecycle"] = {};
    fake.meanwhile("storage.buckets.patch", () => fake.world.touch(bucketOf(volume)));
    await expectOk(uploads.begin(volume, objectPath));
    fake.faults.inject({ method: "storage.xml.other", nth: 1, kind: "unavailable" });
    await expectOk(uploads.begin(volume, objectPath));
  });

  test("of a missing volume or upload fail with not_found", async () => {
    const { uploads, volume, upload } = await begun();
    const gone = { ...volume, id: `${volume.id.slice(0, -1)}${volume.id.endsWith("0") ? "1" : "0"}` };
    expect((await expectError(uploads.begin(gone, objectPath))).kind).toBe("not_found");
    expect((await expectError(uploads.stored({ ...upload, volume: gone }))).kind).toBe("not_found");
    // Cloud Storage rejects a malformed id with 400 instead of 404.
    for (const id of ["malformed", "", "../x"])
      expect((await expectError(uploads.stored({ ...upload, id }))).kind).toBe("not_found");
  });
});
