/** Dockerfiles and engines that require BuildKit, with and without BuildKit in the docker command. */
import { createServer, request as forward, type Server } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { LocalDeps } from "../../adapters/local/index.ts";
import { sourceOf } from "../support/archives/archives.ts";
import { folderWith } from "../support/archives/folders.ts";
import { startLocal } from "../support/providers/local-platform.ts";
import { needs } from "../support/vitest/machine.ts";

const server = `require("node:http").createServer((q, r) => r.end("hi")).listen(process.env.PORT)`;
const withMount = `FROM node:24-bookworm-slim
RUN --mount=type=cache,target=/cache echo made > /cache/x && cp /cache/x /x
COPY server.js /
CMD ["node", "/server.js"]
`;
const plain = 'FROM node:24-bookworm-slim\nCOPY server.js /\nCMD ["node", "/server.js"]\n';
/** A folder without docker. */
const nowhere = { PATH: "/nonexistent" };

const deploy = async (Dockerfile: string, deps: LocalDeps) => {
  await using platform = await startLocal({ runner: "process" }, {}, deps);
  const records = await platform.deploy(sourceOf({ Dockerfile, "server.js": server }));
  const last = records.at(-1);
  const answer = last?.url === undefined ? undefined : await (await fetch(last.url)).text();
  return { last, answer, output: records.map(({ message }) => message).join("\n") };
};

test("BuildKit builds RUN --mount if docker has it", async (context) => {
  needs(context, "base images", "buildkit");
  const { answer, output } = await deploy(withMount, {});
  expect(answer, output).toBe("hi");
  expect(output).toContain("RUN --mount=type=cache");
});

test("reports a failed step with its exit code and last lines", async (context) => {
  needs(context, "base images", "buildkit");
  const Dockerfile = "FROM node:24-bookworm-slim\nRUN --mount=type=cache,target=/x echo before && exit 7\n";
  const { last, output } = await deploy(Dockerfile, {});
  expect(last).toMatchObject({ status: "ERROR", reason: "build_failed", exit_code: 7 });
  expect(output).toContain("before");
});

test.for(["# syntax=docker/dockerfile:1\nFROM scratch\n", "FROM scratch\nRUN --mount=type=cache,target=/x true\n"])(
  "without BuildKit, names the line that requires it: %j",
  async (Dockerfile, context) => {
    needs(context, "containers");
    const { last } = await deploy(Dockerfile, { environment: nowhere });
    expect(last).toMatchObject({ status: "ERROR", reason: "no_builder" });
    const line = Dockerfile.startsWith("#") ? 1 : 2;
    expect(last?.message).toContain(
      `Line ${line} of the Dockerfile (${Dockerfile.split("\n")[line - 1]}) needs BuildKit`,
    );
  },
);

/** The machine's Docker without its classic builder, as in versions that removed it. */
const engineWithoutClassic = async (path: string): Promise<Server> => {
  const proxy = createServer((request, response) => {
    const { url = "/", method, headers } = request;
    if (/^\/(?:v[\d.]+\/)?build\?/.test(url) && !url.includes("version=2")) {
      request.resume();
      response.writeHead(501).end(JSON.stringify({ message: "the classic builder was removed" }));
      return;
    }
    const onward = forward({ socketPath: "/var/run/docker.sock", path: url, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    onward.on("error", () => response.destroy());
    request.pipe(onward);
  });
  proxy.on("upgrade", (request, socket, head) => {
    const { url = "/", method, headers } = request;
    const onward = forward({ socketPath: "/var/run/docker.sock", path: url, method, headers }).end();
    onward.on("upgrade", (answer, other, first) => {
      const lines = Object.entries(answer.headers).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.write(`HTTP/1.1 101 UPGRADED\r\n${lines.join("")}\r\n`);
      socket.write(first);
      other.write(head);
      socket.pipe(other).pipe(socket);
    });
    onward.on("error", () => socket.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(path, () => resolve()));
  return proxy;
};

test("an engine without the classic builder builds with BuildKit", async (context) => {
  needs(context, "base images", "buildkit");
  using folder = folderWith();
  const socket = join(folder.path, "docker.sock");
  const proxy = await engineWithoutClassic(socket);
  try {
    const DOCKER_HOST = `unix://${socket}`;
    const { answer, output } = await deploy(plain, { environment: { ...process.env, DOCKER_HOST } });
    expect(answer, output).toBe("hi");
    const { last } = await deploy(`${plain}# other\n`, { environment: { ...nowhere, DOCKER_HOST } });
    expect(last).toMatchObject({ status: "ERROR", reason: "no_builder" });
    expect(last?.message).toContain("builds only with BuildKit");
  } finally {
    proxy.closeAllConnections();
    proxy.close();
  }
});
