/** Tests that the spool fulfils the contract of its port, and works in a control plane. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createControlPlane } from "portside";
import { createMemoryProvider } from "portside/memory";
import { contractTests, freshNames, sourceSpoolCases } from "portside/testing";
import { expect, test } from "vitest";
import { principalFor } from "./app.ts";
import { createFolderSpool } from "./folder-spool.ts";
import { sources } from "./sources.ts";

const start = async () => {
  const folder = mkdtempSync(join(tmpdir(), "folder-spool-"));
  const { provider } = createMemoryProvider();
  return {
    subject: { provider: { ...provider, spool: createFolderSpool(folder) }, sources, ...freshNames("folder") },
    close: async () => {
      const left = readdirSync(folder);
      rmSync(folder, { recursive: true, force: true });
      if (left.length > 0) throw new Error(`left in the spool: ${left.join(", ")}`);
    },
  };
};

contractTests("sources in a folder", sourceSpoolCases, start, createMemoryProvider().provider.capabilities);

test("a deploy reads its source from the spool and leaves nothing", async () => {
  const folder = mkdtempSync(join(tmpdir(), "folder-spool-"));
  const { ports, close } = createMemoryProvider();
  const controlPlane = createControlPlane({
    ...ports,
    provider: { ...ports.provider, spool: createFolderSpool(folder) },
  });
  const principal = principalFor("ann", "test");
  const bytes = async function* () {
    yield sources.hello("hi");
  };
  const archive = (await controlPlane.receiveSource(principal, bytes()))._unsafeUnwrap();
  expect(readdirSync(folder)).toHaveLength(1);
  const request = { fields: { function_name: "hi", volumes: {} }, archive };
  const run = (await controlPlane.deploy(principal, request))._unsafeUnwrap();
  const records = await Array.fromAsync(run.follow());
  expect(records.at(-1)?.status).toBe("DONE");
  // The control plane discards the source after the last record; closing waits for it.
  await controlPlane.close();
  expect(readdirSync(folder)).toEqual([]);
  await close();
  rmSync(folder, { recursive: true, force: true });
});
