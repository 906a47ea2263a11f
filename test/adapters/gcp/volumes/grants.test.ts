/** Signed URLs of Cloud Storage: with and without a key, and their lifetime. */
import { Storage } from "@google-cloud/storage";
import { Impersonated, PassThroughClient } from "google-auth-library";
import { describe, expect, test } from "vitest";
import type { ObjectPath } from "../../../../core/domain/volumes/object-path.ts";
import { instantOfMillis, millisOf } from "../../../../core/domain/wire/instant.ts";
import { a, account, data, inAMinute, put } from "../../../clouds/volumes/steps.ts";
import { expectError, expectOk } from "../../../contracts/support.ts";
import { silentLogger } from "../../../support/logs/silent-logger.ts";
import { fake } from "./steps.ts";
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
    expect((await expectError(volumes.grantUpload(volume, a, inAMinute()))).kind).toBe("unavailable");
    expect(logged).toEqual([expect.stringContaining("iam.serviceAccounts.signBlob")]);
  });

  test("expire at the requested time, and after twelve hours at most", async () => {
    const { volume } = await expectOk(volumesOver(fake).create(account(), data));
    const until = instantOfMillis(Date.now() + 90_500);
    const soon = await expectOk(volumesOver(fake).grantDownload(volume, a, until));
    expect(millisOf(until) - millisOf(soon.expiresAt)).toBeLessThan(1000);
    expect(soon.expiresAt <= until).toBe(true);
    const late = await expectOk(
      volumesOver(fake).grantDownload(volume, a, instantOfMillis(Date.now() + 30 * 86_400_000)),
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
