/** Exactly one source: the archive of the form, or an object of a volume; and an archive's problems beside the fields'. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serveMemory } from "../../support/api.ts";
import { sourceOf, tarGz } from "../../support/archives.ts";
import { field, file, formOf, formType, type Part } from "../../support/multipart.ts";
import { problemsOf } from "../../support/refusals.ts";

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

describe("neither", () => {
  const none: Readonly<Record<string, readonly Part[]>> = {
    "nothing sent": [],
    "an empty source_object": [field("source_object", "")],
    "a file part with neither name nor bytes": [file("source_archive", "")],
    "both of them empty": [file("source_archive", ""), field("source_object", "")],
  };
  test.each(Object.entries(none))("%s", async (_what, parts) => {
    expect(problemsOf(await send(...parts))).toEqual(["body.source_archive: missing"]);
  });

  test("a plan needs none", async () => {
    const body = formOf(...good, file("source_archive", ""));
    const answer = await api.call("POST", "/v1/deploy/plan", { body, headers: { "content-type": formType } });
    expect(answer.status, answer.text).toBe(200);
  });
});

describe("both", () => {
  test("is refused, whichever comes first", async () => {
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
  test("is not offered yet, and the capability that lacks is named", async () => {
    const answer = await send(field("source_object", "volume/source.tar.gz"));
    expect(problemsOf(answer)).toEqual(["body.source_object: unsupported"]);
    const reason = (await api.call("GET", "/v1/capabilities")).json.source_object.reason;
    expect(answer.json.detail[0].msg).toBe(reason);
  });

  test.each(["volume", "/path", "volume/"])("%j is none", async (value) => {
    expect(problemsOf(await send(field("source_object", value)))).toEqual(["body.source_object: value_error"]);
  });
});

describe("a file that is an archive by name only", () => {
  test.each([
    ["without a byte", Buffer.alloc(0), /is empty/],
    ["a zip", Buffer.from("PK\x03\x04zip"), /not a gzip file/],
    ["with a bad entry", tarGz([{ path: "../evil" }]), /entry "\.\.\/evil" leads out/],
  ])("%s", async (_what, content, words) => {
    const answer = await send(upload(content));
    expect(problemsOf(answer)).toEqual(["body.source_archive: archive_invalid"]);
    expect(answer.json.detail[0].msg).toMatch(words);
  });

  test("is reported together with every broken field, also with those after it", async () => {
    const parts = [field("port", "0"), upload(tarGz([{ path: "/abs" }])), field("timeout", "x"), field("prot", "1")];
    expect(problemsOf(await send(...parts))).toEqual([
      "body.port: greater_than_equal",
      "body.prot: extra_forbidden",
      "body.source_archive: archive_invalid",
      "body.timeout: int_parsing",
    ]);
  });
});
