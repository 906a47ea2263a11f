/**
 * A registry of container images on the loopback: https://github.com/opencontainers/distribution-spec/blob/main/spec.md
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { tarGz } from "../archives/archives.ts";

export interface ImageRegistry extends AsyncDisposable {
  readonly port: number;
  /** The requested paths in order. */
  readonly asked: readonly string[];
  /** Each further request for the image gets the next of these; the last one repeats. */
  put(name: string, ...configs: readonly object[]): void;
}

const digestOf = (bytes: string | Uint8Array): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
const MANIFEST = "application/vnd.docker.distribution.manifest.v2+json";

export const startImageRegistry = async (): Promise<ImageRegistry> => {
  const blobs = new Map<string, string | Uint8Array>();
  const tags = new Map<string, string[]>();
  const asked: string[] = [];
  const keep = (bytes: string | Uint8Array): string => {
    const digest = digestOf(bytes);
    blobs.set(digest, bytes);
    return digest;
  };
  const layer = tarGz([{ path: "from-registry", content: "yes" }]);

  const imageOf = (config: object): string => {
    const rootfs = { type: "layers", diff_ids: [digestOf(gunzipSync(layer))] };
    const text = JSON.stringify({ architecture: "amd64", os: "linux", config, rootfs });
    const manifest = {
      schemaVersion: 2,
      mediaType: MANIFEST,
      config: { mediaType: "application/vnd.docker.container.image.v1+json", size: text.length, digest: keep(text) },
      layers: [
        {
          mediaType: "application/vnd.docker.image.rootfs.diff.tar.gzip",
          size: layer.length,
          digest: keep(layer),
        },
      ],
    };
    return keep(JSON.stringify(manifest));
  };

  const server = createServer(({ url = "/", method }, response) => {
    asked.push(url);
    const [, name = "", kind, reference = ""] = /^\/v2\/(.+)\/(manifests|blobs)\/(.+)$/.exec(url) ?? [];
    const images = tags.get(name) ?? [];
    const isTag = kind === "manifests" && !reference.startsWith("sha256:");
    const digest = isTag ? (images[0] ?? "") : reference;
    if (isTag && images.length > 1 && method === "GET") images.shift();
    const bytes = blobs.get(digest);
    if (url === "/v2/") response.end("{}");
    else if (bytes === undefined)
      response.writeHead(404).end('{"errors":[{"code":"MANIFEST_UNKNOWN","message":"unknown"}]}');
    else {
      response.writeHead(200, {
        "Content-Type": kind === "manifests" ? MANIFEST : "application/octet-stream",
        "Content-Length": bytes.length,
        "Docker-Content-Digest": digest,
      });
      response.end(method === "HEAD" ? undefined : bytes);
    }
  }).listen(0, "::");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    put: (name, ...configs) => tags.set(name, configs.map(imageOf)),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
};
