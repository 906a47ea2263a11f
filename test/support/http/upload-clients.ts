/** Programs that upload a file as users do: Node's fetch, curl, and Python's http.client. */
import { execFile } from "node:child_process";
import { createReadStream, openAsBlob } from "node:fs";
import { Readable } from "node:stream";
import { promisify } from "node:util";
import { aroundFile, formType } from "./multipart.ts";

const run = promisify(execFile);

export interface Upload {
  readonly url: string;
  readonly key: string;
  /** The path of the file. */
  readonly archive: string;
  /** Chunked, or with a Content-Length. */
  readonly chunked: boolean;
}

export interface UploadResult {
  readonly status: number;
  readonly body: string;
}

/** Sends the same upload several times in sequence and returns the client's view of each response. */
export type UploadClient = (upload: Upload, times: number) => Promise<UploadResult[]>;

const fields = { function_name: "app", volumes: "{}" };

async function* formAround(archive: string): AsyncGenerator<Uint8Array> {
  const { before, after } = aroundFile(fields);
  yield before;
  yield* createReadStream(archive);
  yield after;
}

const fetchOnce = async ({ url, key, archive, chunked }: Upload): Promise<UploadResult> => {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  form.set("source_archive", await openAsBlob(archive), "source.tar.gz");
  const response = await fetch(`${url}/v1/deploy`, {
    method: "POST",
    headers: { "x-api-key": key, ...(chunked ? { "content-type": formType } : {}) },
    body: chunked ? (Readable.toWeb(Readable.from(formAround(archive))) as ReadableStream) : form,
    ...(chunked ? { duplex: "half" } : {}),
  } as RequestInit);
  return { status: response.status, body: await response.text() };
};

export const withFetch: UploadClient = async (upload, times) => {
  const seen: UploadResult[] = [];
  for (let time = 0; time < times; time++) seen.push(await fetchOnce(upload));
  return seen;
};

export const withCurl: UploadClient = async ({ url, key, archive, chunked }, times) => {
  const seen: UploadResult[] = [];
  for (let time = 0; time < times; time++) {
    const texts = Object.entries(fields).flatMap(([name, value]) => ["-F", `${name}=${value}`]);
    const { stdout } = await run("curl", [
      ...["--silent", "--show-error", "--noproxy", "*", "--write-out", "\n%{http_code}", "-H", `X-API-Key: ${key}`],
      ...(chunked ? ["-H", "Transfer-Encoding: chunked"] : []),
      ...texts,
      ...["-F", `source_archive=@${archive}`, `${url}/v1/deploy`],
    ]);
    const lines = stdout.split("\n");
    seen.push({ status: Number(lines.pop()), body: lines.join("\n") });
  }
  return seen;
};

const PYTHON = `
import http.client, json, os, sys
port, key, archive, chunked, times, before, after, kind = sys.argv[1:]
before, after = bytes.fromhex(before), bytes.fromhex(after)
def body():
    yield before
    with open(archive, "rb") as file:
        while piece := file.read(65536):
            yield piece
    yield after
length = len(before) + os.path.getsize(archive) + len(after)
seen = []
for _ in range(int(times)):
    connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)
    headers = {"X-API-Key": key, "Content-Type": kind}
    if chunked == "true":
        connection.request("POST", "/v1/deploy", body(), headers, encode_chunked=True)
    else:
        headers["Content-Length"] = str(length)
        connection.request("POST", "/v1/deploy", body(), headers)
    response = connection.getresponse()
    seen.append({"status": response.status, "body": response.read().decode()})
    connection.close()
print(json.dumps(seen))
`;

export const withPython: UploadClient = async ({ url, key, archive, chunked }, times) => {
  const { before, after } = aroundFile(fields);
  const around = [before.toString("hex"), after.toString("hex"), formType];
  const { stdout } = await run(
    "python3",
    ["-c", PYTHON, new URL(url).port, key, archive, String(chunked), String(times), ...around],
    { maxBuffer: 64 * 1024 * 1024 },
  );
  return JSON.parse(stdout) as UploadResult[];
};
