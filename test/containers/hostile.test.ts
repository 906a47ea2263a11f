/** What a service in a container must not reach, tested from inside with a service that runs any command. */
import { GenericContainer, Wait } from "testcontainers";
import { describe, expect, test } from "vitest";
import { nodeSource, sourceOf } from "../support/archives/archives.ts";
import { sweepLabelled } from "../support/providers/at-docker.ts";
import { execIn, execService } from "../support/providers/exec-service.ts";
import { hostileTests } from "../support/sandbox/hostile-suite.ts";
import { needs } from "../support/vitest/machine.ts";

const Dockerfile = `FROM node:24-bookworm-slim
WORKDIR /app
COPY . .
CMD ["node", "server.mjs"]
`;

const sources = {
  "a Dockerfile's": { source: sourceOf({ Dockerfile, "server.mjs": execService }), lacks: "base images" },
  "a plain source": { source: nodeSource(execService), lacks: "containers" },
} as const;

const BYSTANDER = "portside.test.bystander";

/** Address of the container that serves this URL. */
const addressOf = async (url: string): Promise<string> => {
  const { out } = await execIn(url, "hostname -i || cat /etc/hosts");
  const address = out.split(/\s+/).find((word) => /^\d+\.\d+\.\d+\.\d+$/.test(word) && !word.startsWith("127."));
  expect(address).toBeDefined();
  return address as string;
};

/** A program for the exec service: exits with 0 if the connection is accepted. */
const connecting = (host: string, port: number | string): string =>
  `node -e 'require("net").connect({host:"${host}",port:${port}}).on("connect",()=>process.exit(0)).on("error",()=>process.exit(3)).setTimeout(3000,()=>process.exit(4))'`;

describe.each(Object.entries(sources))("%s service", (_title, { source, lacks }) => {
  const inside = hostileTests({ runner: "container" }, source, lacks);
  const reach = async (host: string, port: number | string) => (await inside().run(connecting(host, port))).code;

  test("cannot reach a neighbour or the machine's loopback", async (context) => {
    needs(context, lacks);
    const { neighbour, platform, run } = inside();
    const address = await addressOf(neighbour);
    expect(await reach("127.0.0.1", (await run("echo $PORT")).out), "itself").toBe(0);
    expect(await reach(address, (await execIn(neighbour, "echo $PORT")).out), "the neighbour").not.toBe(0);
    const gateway = address.replace(/\.\d+$/, ".1");
    for (const port of [new URL(neighbour).port, platform.local.ingressPort])
      for (const host of ["127.0.0.1", gateway]) expect(await reach(host, port), `${host}:${port}`).not.toBe(0);
  });

  test("cannot reach another user's containers on the machine", async (context) => {
    needs(context, "base images");
    await sweepLabelled(BYSTANDER);
    await using bystander = await new GenericContainer("node:24-bookworm-slim")
      .withLabels({ [BYSTANDER]: "" })
      .withCommand(["node", "-e", 'require("http").createServer((q, r) => r.end("theirs")).listen(8000)'])
      .withExposedPorts(8000)
      .withWaitStrategy(Wait.forListeningPorts())
      .start();
    const [network] = bystander.getNetworkNames();
    const address = bystander.getIpAddress(network ?? "bridge");
    // The address works from allowed places.
    expect(await (await fetch(`http://${address}:8000`)).text()).toBe("theirs");
    // Retries, because other tests create networks. When Docker creates one, it removes the rule that isolates networks
    // for some milliseconds and adds it again (EnsureJumpRule of its bridge driver).
    await expect.poll(() => reach(address, 8000)).not.toBe(0);
  });

  test("cannot reach the engine, its images or other networks", async (context) => {
    needs(context, lacks);
    const { run } = inside();
    expect((await run("ls /var/run/docker.sock /run/docker.sock /run/containerd/containerd.sock")).out).toBe("");
    expect(await reach("127.0.0.1", 2375)).not.toBe(0);
    const { out } = await run("ls /sys/class/net");
    expect(out.split(/\s+/).sort()).toEqual(["eth0", "lo"]);
    expect((await run("ip link add dummy0 type dummy || unshare --net true")).code).not.toBe(0);
    expect((await run("dmesg")).code).not.toBe(0);
  });
});
