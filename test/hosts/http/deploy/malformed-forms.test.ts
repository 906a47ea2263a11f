/** The server promptly responds with 422 to a body that is not a form, or is truncated. It stores nothing. */
import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { MiB } from "../../../../core/domain/accounts/limits.ts";
import { tarGz } from "../../../support/archives/archives.ts";
import { type DiskApi, serveOnDisk } from "../../../support/http/disk-api.ts";
import { field, file, formOf, formType } from "../../../support/http/multipart.ts";
import { problemsOf } from "../../../support/http/refusals.ts";

const good = [field("function_name", "app"), field("volumes", "{}")];
const archive = tarGz([{ path: "data.bin", content: randomBytes(200_000) }]);
const whole = formOf(...good, file("source_archive", "source.tar.gz", archive));
const dataAt = Buffer.from(whole).indexOf(archive);

const send = (api: DiskApi, body: Uint8Array<ArrayBuffer> | string, type = formType) =>
  api.call("POST", "/v1/deploy", { body, headers: { "content-type": type } });

const refused = async (body: Uint8Array<ArrayBuffer> | string, type?: string): Promise<string[]> => {
  await using api = await serveOnDisk();
  const answer = await send(api, body, type);
  expect(await api.spooled()).toEqual([]);
  expect(api.memory.snapshot().services.size).toBe(0);
  return problemsOf(answer);
};

test("the form is valid", async () => {
  await using api = await serveOnDisk();
  expect((await send(api, whole)).status).toBe(200);
});

describe("rejects a form without a boundary", () => {
  test.each(["multipart/form-data", "multipart/form-data; charset=utf-8", "multipart/form-data; boundary="])(
    "%s",
    async (type) => {
      expect(await refused(whole, type)).toContain("body: value_error");
    },
  );
});

describe("rejects a form that is truncated", () => {
  const cuts: Readonly<Record<string, number>> = {
    "before the first byte": 0,
    "within the boundary": 10,
    "within a head": 40,
    "after a head": Buffer.from(whole).indexOf("app"),
    "within a value": Buffer.from(whole).indexOf("app") + 1,
    "at the beginning of the file": dataAt,
    "within the file": dataAt + 1000,
    "near the end of the file": dataAt + archive.length - 5,
    "before the last boundary": whole.length - 30,
    "within the last boundary": whole.length - 6,
  };
  test.each(Object.entries(cuts))("%s", async (_where, length) => {
    const problems = await refused(whole.slice(0, length));
    expect(problems.filter((problem) => problem === "body: value_error")).toHaveLength(1);
  });

  test("within a file without a name", async () => {
    const body = formOf(...good, file("source_archive", ""));
    expect(await refused(body.slice(0, body.length - 40))).toContain("body: value_error");
  });
});

describe("rejects a body that is not a form", () => {
  test.each([
    ["text", "hello"],
    ["JSON", '{"function_name":"app"}'],
    [
      "another boundary",
      Buffer.from(formOf(...good))
        .toString()
        .replaceAll("portside-test-boundary", "other"),
    ],
    ["an archive", new Uint8Array(archive)],
  ])("%s", async (_what, body) => {
    expect(await refused(body)).toContain("body: value_error");
  });
});

describe("large text fields", () => {
  test("reports a field over 1 MiB", async () => {
    const body = formOf(...good, field("env", "x".repeat(MiB + 1)), file("source_archive", "s", archive));
    expect(await refused(body)).toContain("body.env: too_large");
  });

  test("reports fields that exceed 1 MiB in total", async () => {
    const many = Array.from({ length: 5 }, (_, n) => field(`field${n}`, "x".repeat(MiB / 4)));
    const problems = await refused(formOf(...good, ...many, file("source_archive", "s", archive)));
    expect(problems.filter((problem) => problem.endsWith("too_large")).length).toBeGreaterThan(0);
  });

  test("rejects a body far over the limit, and keeps serving", async () => {
    await using api = await serveOnDisk();
    const junk = new Blob(Array.from({ length: 200 }, () => new Uint8Array(MiB)));
    const form = new FormData();
    form.set("other", junk, "junk.bin");
    const answer = await api.call("POST", "/v1/deploy", { body: form }).catch(() => undefined);
    // The server may close the connection before the client reads the response.
    if (answer !== undefined) expect(problemsOf(answer)).toContain("body: too_large");
    expect((await api.call("GET", "/health")).status).toBe(200);
  });
});
