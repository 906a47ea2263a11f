/** Transfers through signed URLs compared with nginx and the same file: server on core 0, curl on core 1. */
import { execFile, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { startOnFreePort } from "../support/http/free-port.ts";
import type { Bench, Setup } from "./bench.ts";
import { canPin, installed, killOnExit, pin, startServer, stop } from "./processes.ts";

const run = promisify(execFile);

/** Mebibytes a second of one transfer, as curl reports it. */
const transfer = async (...args: string[]): Promise<number> => {
  const { stdout } = await run("taskset", [
    "-c",
    "1",
    "curl",
    "-sS",
    "--fail",
    "-o",
    "/dev/null",
    "-w",
    "%{speed_upload} %{speed_download}",
    ...args,
  ]);
  return Math.max(...stdout.split(" ").map(Number)) / 1024 ** 2;
};

const startNginx = (folder: string) =>
  startOnFreePort((port) => {
    const config = join(folder, "nginx.conf");
    writeFileSync(
      config,
      `daemon off; user root; pid ${folder}/nginx.pid; error_log /dev/null; worker_processes 1; events {}
http { access_log off; sendfile on; client_body_temp_path ${folder}/half; server { listen 127.0.0.1:${port};
location = /up { return 204; }
location / { root ${folder}/files; dav_methods PUT; client_max_body_size 0; } } }`,
    );
    return killOnExit(spawn("taskset", ["-c", "0", "nginx", "-c", config, "-p", folder], { stdio: "ignore" }));
  }, "/up");

const prepare = async (small: boolean) => {
  if (!installed("curl") || !installed("nginx") || !canPin())
    throw new Error("curl, nginx and taskset are missing (Debian: curl, nginx, util-linux)");
  const folder = mkdtempSync(join(tmpdir(), "portside-bench-storage-"));
  mkdirSync(join(folder, "files"));
  const file = join(folder, "file.bin");
  const bytes = (small ? 16 : 1024) * 1024 ** 2;
  await run("sh", ["-c", `head -c ${bytes} /dev/urandom > "$1"`, "sh", file]);
  const nginx = await startNginx(folder);
  const server = await startServer("--runner", "process");
  pin(server.pid, 0);
  const call = async (path: string, body: object): Promise<{ url: string }> => {
    const headers = { "x-api-key": server.apiKey, "content-type": "application/json" };
    const response = await fetch(server.url + path, { method: "POST", body: JSON.stringify(body), headers });
    return (await response.json()) as { url: string };
  };
  await call("/v1/volume/create", { name: "bench" });
  const object = { volume: "bench", path: "file.bin" };
  const upload = (await call("/v1/volume/upload", object)).url;
  const beside = `${nginx.url}/file.bin`;
  await transfer("-T", file, upload);
  await transfer("-T", file, beside);
  const download = (await call("/v1/volume/download", object)).url;
  const close = async () => {
    await stop(nginx.child);
    await server[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  };
  return { file, upload, download, beside, close };
};

const bench = (
  name: string,
  title: string,
  measured: (ready: Awaited<ReturnType<typeof prepare>>) => Pick<Setup, "subject" | "peers">,
): Bench => ({
  name,
  title,
  unit: "MiB/s",
  goals: [{ peer: "nginx", at: "least", bound: 0.5 }],
  prepare: async ({ small }) => {
    const ready = await prepare(small);
    return { ...measured(ready), [Symbol.asyncDispose]: ready.close };
  },
});

export const storagePut = bench(
  "storage-put",
  "upload of 1 GiB through a signed URL with a flush to disk, compared with an upload to nginx (without a flush)",
  ({ file, upload, beside }) => ({
    subject: { name: "portside", measure: () => transfer("-T", file, upload) },
    peers: [{ name: "nginx", measure: () => transfer("-T", file, beside) }],
  }),
);

export const storageGet = bench(
  "storage-get",
  "download of 1 GiB through a signed URL, compared with nginx serving the same file",
  ({ download, beside }) => ({
    subject: { name: "portside", measure: () => transfer(download) },
    peers: [{ name: "nginx", measure: () => transfer(beside) }],
  }),
);
