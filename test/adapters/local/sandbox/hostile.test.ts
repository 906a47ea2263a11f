/**
 * What a hostile service can reach if services share the machine's network: neighbours' ports directly, the platform
 * only with a credential or a signature.
 */
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { whyNoNetworks } from "../../../../adapters/local/sandbox/network/networks.ts";
import { nodeSource } from "../../../support/archives/archives.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { type Served, serve } from "../../../support/http/served.ts";
import { execIn, execService } from "../../../support/providers/exec-service.ts";
import { runners, startLocal, type TestPlatform } from "../../../support/providers/local-platform.ts";
import { hostileTests } from "../../../support/sandbox/hostile-suite.ts";

const source = nodeSource(execService);
const whyNoNetwork = await whyNoNetworks("test");

describe("a service in a bubblewrap sandbox", () => {
  hostileTests({ runner: "bubblewrap" }, source, "bubblewrap");
});

/** network.test.ts tests services with a separate network. */
const sharing = runners.filter((runner) => runner === "process" || whyNoNetwork !== undefined);

describe.each(sharing)("a service on the loopback address, with runner %s", (runner) => {
  let platform: TestPlatform;
  let url: string;
  let neighbour: string;
  let api: Served;
  const folder = folderWith();
  beforeAll(async () => {
    platform = await startLocal({ runner });
    neighbour = await platform.up(source, { function_name: "neighbour", volumes: { "/data": "secrets" } }, "other");
    url = await platform.up(source);
    api = await serve(folder.path, { runner });
  });
  afterAll(async () => {
    await platform[Symbol.asyncDispose]();
    api.child.kill("SIGTERM");
    await once(api.child, "exit");
    folder[Symbol.dispose]();
  });

  /** The status and the beginning of a GET response, requested from inside the service. */
  const get = async (address: string): Promise<string> => {
    const program = `fetch("${address}").then(async (r) => console.log(r.status, await r.text()))`;
    return (await execIn(url, `node -e '${program}'`)).out;
  };

  test("reaches another instance's port without the ingress", async () => {
    const port = (await execIn(neighbour, "echo $PORT")).out;
    expect(port).not.toBe(new URL(neighbour).port);
    expect(await get(`http://127.0.0.1:${port}/`)).toMatch(/^200 \{"code":0/);
  });

  test("gets 401 from the platform's API without a credential", async () => {
    expect(await get(`${api.url}/v1/deployment/list`)).toMatch(/^401 /);
    expect(await get(`${api.url}/v1/volume/list`)).toMatch(/^401 /);
  });

  test("is rejected by storage without a valid signature", async () => {
    const storage = `http://127.0.0.1:${platform.local.ingressPort}/_portside/storage`;
    expect(await get(`${storage}/secrets/file`)).toMatch(/^40[34] /);
    expect(await get(`${storage}/secrets/file?expires=99999999999&signature=AAAA`)).toMatch(/^40[34] /);
  });

  test("the capabilities report the shared network", () => {
    const { isolation, runner: words } = platform.local.provider.capabilities;
    expect(isolation).not.toBe("full");
    expect(words).toMatch(/services can call each other's ports|services are not isolated from each other/);
  });
});
