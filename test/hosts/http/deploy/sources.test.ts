/**
 * A deploy has exactly one source: the archive of the form, or an object of a volume. Problems of the archive are
 * reported together with those of the fields.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { missing } from "../../../../core/domain/wire/capabilities.ts";
import { sourceOf, tarGz } from "../../../support/archives/archives.ts";
import { recordsOf, serveMemory } from "../../../support/http/api.ts";
import { field, file, formOf, formType, type Part } from "../../../support/http/multipart.ts";
import { detailOf, problemsOf } from "../../../support/http/refusals.ts";

let api: Awaited<ReturnType<typeof serveMemory>>;
beforeAll(async () => {
  api = await serveMemory();
});
afterAll(() => api[Symbol.asyncDispose]());

const archive = sourceOf({ "index.js": "run()" });
const good = [field("function_name", "app"), field("volumes", "{}")];
const upload = (content: Uint8Array = archive) => file("source_archive", "source.tar.gz", content);
const send = (...parts: readonly Part[]) =>
  api.call("POST", "/v1/deploy", { body: formOf(...good, ...parts), headers: { "content-type": formType } });

describe("no source", () => {
  const none: Readonly<Record<string, readonly Part[]>> = {
    "neither field": [],
    "an empty source_object": [field("source_object", "")],
    "a file part with neither name nor bytes": [file("source_archive", "")],
    "both fields, empty": [file("source_archive", ""), field("source_object", "")],
  };
  test.each(Object.entries(none))("%s", async (_what, parts) => {
    expect(problemsOf(await send(...parts))).toEqual(["body.source_archive: missing"]);
  });

  test("a plan does not require a source", async () => {
    const body = formOf(...good, file("source_archive", ""));
    const answer = await api.call("POST", "/v1/deploy/plan", { body, headers: { "content-type": formType } });
    expect(answer.status, answer.text).toBe(200);
  });
});

describe("two sources", () => {
  test("are rejected in either order", async () => {
    for (const parts of [
      [upload(), field("source_object", "v/p")],
      [field("source_object", "v/p"), upload()],
    ])
      expect(problemsOf(await send(...parts))).toEqual(["body.source_archive: value_error"]);
  });

  test("an empty source_object, or an empty second file part, is not a second source", async () => {
    expect((await send(upload(), field("source_object", ""))).status).toBe(200);
    expect((await send(upload(), file("source_archive", ""))).status).toBe(200);
    expect((await send(file("source_archive", ""), upload())).status).toBe(200);
  });
});

describe("an object of a volume", () => {
  test("is rejected with the provider's reason if the provider does not support source_object", async () => {
    await using lacking = await serveMemory({ capabilities: { source_object: missing("no source objects here") } });
    const body = formOf(...good, field("source_object", "volume/source.tar.gz"));
    const answer = await lacking.call("POST", "/v1/deploy", { body, headers: { "content-type": formType } });
    expect(problemsOf(answer)).toEqual(["body.source_object: unsupported"]);
    expect(answer.json.detail[0].msg).toBe("no source objects here");
  });

  test("that does not exist is a 404, before the stream", async () => {
    expect(detailOf(await send(field("source_object", "volume/source.tar.gz")), 404)).toContain("'volume'");
    await api.call("POST", "/v1/volume/create", { json: { name: "volume" } });
    expect(detailOf(await send(field("source_object", "volume/source.tar.gz")), 404)).toContain("'source.tar.gz'");
    const stranger = { account: "stranger", headers: { "content-type": formType } };
    const body = formOf(...good, field("source_object", "volume/source.tar.gz"));
    detailOf(await api.call("POST", "/v1/deploy", { body, ...stranger }), 403);
  });

  test("is deployed", async () => {
    await api.call("POST", "/v1/volume/create", { json: { name: "sources" } });
    const grant = await api.call("POST", "/v1/volume/upload", { json: { volume: "sources", object: "a/b.tar.gz" } });
    await fetch(grant.json.url, { method: "PUT", body: new Uint8Array(archive) });
    const records = recordsOf(await send(field("source_object", "sources/a/b.tar.gz")));
    expect(records.map(({ message }) => message)).toContain("Fetching the source 'sources/a/b.tar.gz'");
    expect(records.at(-1).status).toBe("DONE");
  });

  test("that is not an archive ends the stream with archive_invalid", async () => {
    await api.call("POST", "/v1/volume/create", { json: { name: "sources" } });
    const grant = await api.call("POST", "/v1/volume/upload", { json: { volume: "sources", object: "zip" } });
    await fetch(grant.json.url, { method: "PUT", body: "PK no tar" });
    expect(recordsOf(await send(field("source_object", "sources/zip"))).at(-1)).toMatchObject({
      status: "ERROR",
      reason: "archive_invalid",
      message: expect.stringContaining("sources/zip"),
    });
  });

  test.each(["volume/../x", "volume//x", "volume/a\\b", "volume/a/."])("%j is not an object path", async (value) => {
    expect(problemsOf(await send(field("source_object", value)))).toEqual(["body.source_object: value_error"]);
  });

  test.each(["volume", "/path", "volume/"])("rejects %j", async (value) => {
    expect(problemsOf(await send(field("source_object", value)))).toEqual(["body.source_object: value_error"]);
  });
});

describe("a file that is an archive by name only", () => {
  test.each([
    ["without a byte", Buffer.alloc(0), /is empty/],
    ["a zip", Buffer.from("PK\x03\x04zip"), /not a gzip file/],
    ["with a bad entry", tarGz([{ path: "../evil" }]), /entry "\.\.\/evil" leaves the source folder/],
  ])("%s", async (_what, content, words) => {
    const answer = await send(upload(content));
    expect(problemsOf(answer)).toEqual(["body.source_archive: archive_invalid"]);
    expect(answer.json.detail[0].msg).toMatch(words);
  });

  test("is reported together with every broken field, including later ones", async () => {
    const parts = [field("port", "0"), upload(tarGz([{ path: "/abs" }])), field("timeout", "x"), field("prot", "1")];
    expect(problemsOf(await send(...parts))).toEqual([
      "body.port: greater_than_equal",
      "body.prot: extra_forbidden",
      "body.source_archive: archive_invalid",
      "body.timeout: int_parsing",
    ]);
  });
});
