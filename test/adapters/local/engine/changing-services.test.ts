/** Services that are created while the successor of an engine starts. */
import { expect, test } from "vitest";
import { openSuccessor, startEngine } from "../../../../adapters/local/engine/start-engine.ts";
import { createLocalProvider } from "../../../../adapters/local/index.ts";
import { createControlPlane } from "../../../../core/control-plane.ts";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { silentLogger } from "../../../support/logs/silent-logger.ts";
import { deployThrough, principalOf, runners } from "../../../support/providers/local-platform.ts";

test.for(runners)("%s: a successor serves services that were created during its start", async (runner) => {
  using folder = folderWith();
  const config = { dataDir: folder.path, runner, ingressPort: 0, drainSeconds: 1, graceSeconds: 1 };
  const deps = { logger: silentLogger };
  await using first = await startEngine(config, deps);
  const local = await createLocalProvider(config, { engineSocket: first.socket });
  const controlPlane = createControlPlane(local.ports);
  const deploy = deployThrough(controlPlane);
  const up = async (name: string, text: string) => {
    const records = await deploy(nodeSource(helloServer(text)), { function_name: name });
    expect(records.at(-1)).toMatchObject({ status: "DONE" });
    return records.at(-1)?.url as string;
  };
  await up("again", "old");
  await up("other", "other");
  // The successor starts with this description, but finds the following changes in the state.
  const described = first.describe();
  (await controlPlane.deleteDeployment(principalOf("acme"), { name: "again" }))._unsafeUnwrap();
  const urls = [await up("again", "again"), await up("added", "added")];
  await using successor = await openSuccessor(config, deps, described);
  await controlPlane.close();
  await local.close();
  await successor.settle(await first.settle());
  for (const { port, servers } of first.listeningPorts()) for (const one of servers) successor.adopt(port, one);
  await successor.lead(await first.release());
  const texts = urls.map(async (url) => (await fetch(url)).text());
  expect(await Promise.all(texts)).toEqual(["again", "added"]);
});
