/** The repository's Dockerfile: built, started as on a cloud, deployed to, stopped. */
import { execFile, execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { networkEnvironment } from "../../adapters/local/builds/toolchain.ts";
import { nodeSource } from "../support/archives/archives.ts";
import { folderWith } from "../support/archives/folders.ts";
import { Client } from "../support/http/served.ts";
import { sweepLabelled } from "../support/providers/at-docker.ts";
import { eventually } from "../support/vitest/eventually.ts";
import { needs } from "../support/vitest/machine.ts";

const TAG = "portside-test:image";
const LABEL = "portside.test.image";

const docker = (...args: string[]): string => execFileSync("docker", args, { encoding: "utf8" }).trim();

/** The machine's registry settings, passed as build secrets, which stay out of the image. */
const networkOf = (folder: string): string[] => {
  const network = networkEnvironment(process.env);
  const authority = network["NODE_EXTRA_CA_CERTS"];
  const registry = network["npm_config_registry"];
  const npmrc = join(folder, ".npmrc");
  writeFileSync(
    npmrc,
    [
      ...(authority === undefined ? [] : ["cafile=/run/secrets/ca.pem"]),
      ...(registry === undefined ? [] : [`registry=${registry}`]),
    ].join("\n"),
  );
  const proxies = Object.keys(network).filter((name) => /proxy$/i.test(name) && !/^npm/i.test(name));
  return [
    "--network=host",
    `--secret=id=npmrc,src=${npmrc}`,
    ...(authority === undefined ? [] : [`--secret=id=ca,src=${authority}`]),
    ...proxies.map((name) => `--build-arg=${name}`),
  ];
};

const build = async (): Promise<void> => {
  using folder = folderWith();
  await promisify(execFile)(
    "docker",
    ["build", "--tag", TAG, "--build-arg=PROVIDER=memory", ...networkOf(folder.path), "."],
    { env: { ...process.env, DOCKER_BUILDKIT: "1" }, maxBuffer: 2 ** 26 },
  );
};

const service = `import { createServer } from "node:http";
console.log("up");
createServer((request, response) => response.end("hi")).listen(process.env.PORT);
process.on("SIGTERM", () => { console.log("down"); process.exit(0); });
`;

/** The standard output of a container so far. */
const outputOf = (id: string): string =>
  execFileSync("docker", ["logs", id], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });

test("builds from the checkout, runs unprivileged with only its data folder writable, and stops on SIGTERM", {
  timeout: 300_000,
}, async (context) => {
  needs(context, "base images", "buildkit", "registry");
  await sweepLabelled(LABEL);
  await build();
  const id = docker(
    ...["run", "--detach", `--label=${LABEL}`, "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges"],
    ...["--tmpfs=/data:uid=1000,gid=1000,mode=700,exec", "--publish=127.0.0.1::8787"],
    ...[TAG, "serve", "--json", "--provider=local", "--runner=process"],
  );
  try {
    const ready = await eventually(() => JSON.parse(outputOf(id).split("\n")[0] ?? "") as Record<string, string>);
    expect(docker("exec", id, "id", "-u")).not.toBe("0");
    const client = new Client(`http://${docker("port", id, "8787")}`, ready["api_key"] as string);
    const records = await Array.fromAsync(client.deploy("app", nodeSource(service)));
    expect(records.at(-1)).toMatchObject({ status: "DONE" });
    const { logs } = await client.post<{ logs: { message: string }[] }>("/v1/deployment/logs", {
      deployment_name: "app",
    });
    expect(logs.map(({ message }) => message)).toContain("up");
    const check = docker("inspect", "--format={{json .Config.Healthcheck.Test}}", id);
    execFileSync("docker", ["exec", id, ...JSON.parse(check).slice(1)]);
    // Docker kills the container after this number of seconds, which would change its exit code.
    docker("stop", "--time=20", id);
    expect(docker("inspect", "--format={{.State.ExitCode}}", id)).toBe("0");
  } finally {
    docker("rm", "--force", id);
    docker("rmi", "--force", TAG);
  }
});
