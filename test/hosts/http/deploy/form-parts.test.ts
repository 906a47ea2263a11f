/** The parts of a form: in any order, once each, texts as texts and the archive as a file. Other parts are errors. */
import { describe, expect, test } from "vitest";
import { sourceOf, tarGz } from "../../../support/archives/archives.ts";
import { recordsOf } from "../../../support/http/api.ts";
import { type DiskApi, serveOnDisk } from "../../../support/http/disk-api.ts";
import { field, file, formOf, formType, type Part, part } from "../../../support/http/multipart.ts";
import { problemsOf } from "../../../support/http/refusals.ts";
import { eventually } from "../../../support/vitest/eventually.ts";

const name = field("function_name", "app");
const volumes = field("volumes", "{}");
const archive = file("source_archive", "source.tar.gz", sourceOf({ "index.js": "run()" }));

const send = (api: DiskApi, ...parts: readonly Part[]) =>
  api.call("POST", "/v1/deploy", { body: formOf(...parts), headers: { "content-type": formType } });

/** Sends the parts to a new platform, checks that nothing was stored, and returns the issues. */
const refused = async (...parts: readonly Part[]): Promise<string[]> => {
  await using api = await serveOnDisk();
  const answer = await send(api, ...parts);
  expect(await api.spooled()).toEqual([]);
  expect(api.memory.snapshot().services.size).toBe(0);
  return problemsOf(answer);
};

describe("in any order", () => {
  test.each([
    ["fields first", [name, volumes, archive]],
    ["the file first", [archive, name, volumes]],
    ["the file between", [name, archive, volumes]],
  ])("%s", async (_order, parts) => {
    await using api = await serveOnDisk();
    const answer = await send(api, ...parts);
    expect(recordsOf(answer).at(-1)).toMatchObject({ status: "DONE" });
    await eventually(async () => expect(await api.spooled()).toEqual([]));
  });

  test("reports a broken field after the file, and discards the file", async () => {
    expect(await refused(archive, name, volumes, field("port", "0"))).toEqual(["body.port: greater_than_equal"]);
  });
});

describe("once each", () => {
  test("reports a repeated field, even with equal values", async () => {
    expect(await refused(name, name, volumes, archive)).toEqual(["body.function_name: value_error"]);
    expect(await refused(name, volumes, field("port", "1"), archive, field("port", "2"))).toEqual([
      "body.port: value_error",
    ]);
  });

  test("rejects two archives, and stores neither", async () => {
    expect(await refused(name, volumes, archive, archive)).toEqual(["body.source_archive: value_error"]);
    const bad = file("source_archive", "b.tar.gz", tarGz([{ path: "/b" }]));
    expect(await refused(name, volumes, bad, archive)).toEqual([
      "body.source_archive: archive_invalid",
      "body.source_archive: value_error",
    ]);
  });

  test("rejects too many files or fields", async () => {
    const files = Array.from({ length: 6 }, (_, n) => file(`file${n}`, "f", "x"));
    expect(await refused(name, volumes, archive, ...files)).toContain("body: too_large");
    const fields = Array.from({ length: 120 }, (_, n) => field(`field${n}`, "x"));
    expect(await refused(name, volumes, archive, ...fields)).toContain("body: too_large");
  });
});

describe("texts as texts, the archive as a file", () => {
  test.each([
    ["function_name", "string_type"],
    ["port", "int_parsing"],
    ["memory", "string_type"],
    ["session_affinity", "bool_parsing"],
    ["volumes", "dict_type"],
    ["schedule", "string_type"],
    ["timezone", "string_type"],
    ["env", "dict_type"],
    ["source_object", "value_error"],
  ])("does not parse a file for %s as empty text", async (wanted, type) => {
    const rest = [name, volumes].filter((one) => !one.includes(`"${wanted}"`));
    const wrong = file(wanted, "value.txt", "anything");
    expect(await refused(...rest, archive, wrong)).toEqual([`body.${wanted}: ${type}`]);
    expect(await refused(wrong, ...rest, archive)).toEqual([`body.${wanted}: ${type}`]);
  });

  test("rejects a file with an unknown name, and reports the missing archive", async () => {
    expect(await refused(name, volumes, file("archive", "source.tar.gz", "x"))).toEqual([
      "body.archive: extra_forbidden",
      "body.source_archive: missing",
    ]);
  });

  test("rejects an archive sent as text", async () => {
    expect(await refused(name, volumes, field("source_archive", "source.tar.gz"))).toContain(
      "body.source_archive: value_error",
    );
  });

  test("accepts an archive without a filename", async () => {
    await using api = await serveOnDisk();
    const content = sourceOf({ "index.js": "run()" });
    expect((await send(api, name, volumes, file("source_archive", "", content))).status).toBe(200);
  });

  test("rejects a field without a name", async () => {
    const nameless = part(["Content-Disposition: form-data"], "x");
    expect(await refused(name, volumes, archive, nameless)).toEqual(["body.: extra_forbidden"]);
  });

  test("accepts a text field with a content type", async () => {
    await using api = await serveOnDisk();
    const json = part(['Content-Disposition: form-data; name="volumes"', "Content-Type: application/json"], "{}");
    expect((await send(api, name, json, archive)).status).toBe(200);
  });
});
