/** The API has the same port after a restart. */
import type * as NodeCrypto from "node:crypto";
import { expect, test, vi } from "vitest";
import { startEngineAndServer } from "../../../../hosts/cli/server/serve-engine.ts";
import { serverScript } from "../../../../hosts/cli/server/supervised-server.ts";
import { resolveSettings } from "../../../../hosts/composition/settings.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { needs } from "../../../support/vitest/machine.ts";

/** The next ports that this process tries when it chooses a free port. */
const nextChoices = vi.hoisted((): number[] => []);

vi.mock("node:crypto", async (importOriginal) => {
  const original = await importOriginal<typeof NodeCrypto>();
  const randomInt = (min: number, max: number) => nextChoices.shift() ?? original.randomInt(min, max);
  return { ...original, randomInt };
});

test("the engine does not choose the previous port of the API", async (context) => {
  needs(context, "bubblewrap");
  using folder = folderWith();
  const flags = { dataDir: folder.path, port: "0", ingressPort: "0", runner: "bubblewrap", logLevel: "error" };
  const start = () => startEngineAndServer(resolveSettings(flags, {}), serverScript as URL, false);
  const first = await start();
  await first.stop();
  nextChoices.push(Number(new URL(first.url).port));
  const second = await start();
  await second.stop();
  expect(nextChoices).toEqual([]);
  expect(second.url).toBe(first.url);
});
