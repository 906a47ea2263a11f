/** After a restart, every service has its previous port, and instances can reach the other services. */
import type * as NodeCrypto from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { Ingress } from "../../../../adapters/local/ingress/index.ts";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { recordingLogger } from "../../../support/logs/silent-logger.ts";
import { principalOf, startLocalIn, type TestPlatform } from "../../../support/providers/local-platform.ts";
import { needs } from "../../../support/vitest/machine.ts";

/** The next ports that the engine tries when it chooses a free port. */
const nextChoices = vi.hoisted((): number[] => []);

vi.mock("node:crypto", async (importOriginal) => {
  const original = await importOriginal<typeof NodeCrypto>();
  const randomInt = (min: number, max: number) => nextChoices.shift() ?? original.randomInt(min, max);
  return { ...original, randomInt };
});

/** Responds with the response of the URL in the query. */
const CALLER = nodeSource(`
import { createServer } from "node:http";
createServer(async (request, response) => {
  const url = new URL(request.url, "http://here").searchParams.get("url");
  response.end(await fetch(url).then((called) => called.text(), (error) => String(error.cause)));
}).listen(process.env.PORT);
`);

test("a restarted engine opens the services' ports before it chooses others and starts instances", async (context) => {
  needs(context, "bubblewrap");
  const dataDir = mkdtempSync(join(tmpdir(), "portside-ports-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const urls: string[] = [];
  {
    await using platform = await startLocalIn(dataDir, { runner: "bubblewrap" });
    urls.push(await platform.up(CALLER, { function_name: "caller", min_instances: 1 }));
    for (const name of ["one", "two", "three"])
      urls.push(await platform.up(nodeSource(helloServer(name)), { function_name: name }));
  }
  const [caller, ...others] = urls;
  // An unlucky start: every port takes long to open, and the engine chooses the ports of the services for other purposes.
  const addService = Ingress.prototype.addService;
  vi.spyOn(Ingress.prototype, "addService").mockImplementation(async function (this: Ingress, name) {
    await sleep(200);
    return addService.call(this, name);
  });
  nextChoices.push(...urls.map((url) => Number(new URL(url).port)));
  await using _restarted = await startLocalIn(dataDir, { runner: "bubblewrap" });
  expect(nextChoices).toEqual([]);
  const called = others.map(async (url) => (await fetch(`${caller}?url=${encodeURIComponent(url)}`)).text());
  expect(await Promise.all(called)).toEqual(["one", "two", "three"]);
});

test("warns about a service whose previous port another program uses, and keeps its new port", async () => {
  using folder = folderWith();
  const start = (logger = recordingLogger().logger) => startLocalIn(folder.path, { runner: "process" }, {}, { logger });
  const urlOf = async ({ controlPlane }: TestPlatform): Promise<string> =>
    (await controlPlane.listDeployments(principalOf("acme")))._unsafeUnwrap()[0]?.url as string;
  let before: string;
  {
    await using platform = await start();
    before = await platform.up(nodeSource(helloServer("app")));
  }
  const previous = Number(new URL(before).port);
  const other = createServer().listen(previous, "127.0.0.1");
  onTestFinished(() => void other.close());
  await once(other, "listening");
  const { logger, logged } = recordingLogger();
  let moved: string;
  {
    await using platform = await start(logger);
    moved = await urlOf(platform);
    expect(await (await fetch(moved)).text()).toBe("app");
  }
  const port = Number(new URL(moved).port);
  const message = "a service has a new port, because another program uses its previous one";
  const warning = `${message} ${JSON.stringify({ name: "app", previous, port })}`;
  expect(logged.filter((text) => text.startsWith(message))).toEqual([warning]);
  await using platform = await start(logger);
  expect(await urlOf(platform)).toBe(moved);
  expect(logged.filter((text) => text.startsWith(message))).toEqual([warning]);
});
