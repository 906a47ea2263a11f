/** The verifier accepts Google's own V4 signatures (`v4-signatures.json` names their source), and nothing else. */
import { createPublicKey } from "node:crypto";
import { expect, test } from "vitest";
import type { ObjectPath } from "../../../../core/domain/volumes/object-path.ts";
import { volumesOver } from "../../../adapters/gcp/volumes/subject.ts";
import { account, data, inAMinute } from "../../../clouds/volumes/steps.ts";
import { expectOk } from "../../../contracts/support.ts";
import { startFakeStorage } from "./index.ts";
import { checkSignature, type SignedRequest } from "./signature.ts";
import conformance from "./v4-signatures.json" with { type: "json" };

const { serviceAccount, vectors } = conformance;
const key = createPublicKey(conformance.publicKey);

const check = (request: SignedRequest, now: number) =>
  checkSignature(request, now, (email) => (email === serviceAccount ? key : undefined));

type Vector = (typeof vectors)[number];

const requestOf = ({ method, url, headers }: Vector): SignedRequest => {
  const { pathname, searchParams, host } = new URL(url);
  const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]);
  return {
    verb: method,
    path: pathname.split("/").map(decodeURIComponent).join("/"),
    query: searchParams,
    headers: { host, ...Object.fromEntries(lower) },
  };
};

test.each(vectors.map((one) => [one.description, one] as const))("%s", (_description, vector) => {
  const at = Date.parse(vector.timestamp);
  const request = requestOf(vector);
  const lifetimeMs = Number(request.query.get("X-Goog-Expires")) * 1000;
  expect(() => check(request, at)).not.toThrow();
  expect(() => check(request, at + lifetimeMs - 1)).not.toThrow();
  expect(() => check(request, at + lifetimeMs)).toThrow("expired");
  expect(() => check({ ...request, verb: "DELETE" }, at)).toThrow("not that of this request");
  expect(() => check({ ...request, path: `${request.path}x` }, at)).toThrow("not that of this request");
  const query = new URLSearchParams([...request.query, ["prefix", "x"]]);
  expect(() => check({ ...request, query }, at)).toThrow("not that of this request");
  for (const name of Object.keys(request.headers))
    expect(() => check({ ...request, headers: { ...request.headers, [name]: "other" } }, at)).toThrow("not that of");
});

test("the adapter's grants have the parameters of Google's signatures", async () => {
  const fake = await startFakeStorage();
  const { volume } = await expectOk(volumesOver(fake).create(account(), data));
  const parametersOf = (url: string): string[] => [...new URL(url).searchParams.keys()];
  const path = "a/b.txt" as ObjectPath;
  const upload = await expectOk(volumesOver(fake).grantUpload(volume, path, inAMinute()));
  const download = await expectOk(volumesOver(fake).grantDownload(volume, path, inAMinute()));
  const urlOf = (wanted: string) => vectors.find(({ description }) => description === wanted)?.url ?? "";
  expect(parametersOf(upload.url)).toEqual(parametersOf(urlOf("Simple PUT")));
  expect(parametersOf(download.url).sort()).toEqual(
    [...parametersOf(urlOf("Simple GET")), "response-content-type"].sort(),
  );
  for (const { url } of [upload, download]) {
    expect(new URL(url).searchParams.get("X-Goog-Algorithm")).toBe("GOOG4-RSA-SHA256");
    expect(new URL(url).searchParams.get("X-Goog-SignedHeaders")).toBe("host");
    expect(new URL(url).pathname).toMatch(/\/a\/b\.txt$/);
  }
  await fake.close();
});
