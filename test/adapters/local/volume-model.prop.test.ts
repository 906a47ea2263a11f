/** Volumes on this machine agree with the model through any life, with services that really mount them. */
import fc from "fast-check";
import { test } from "vitest";
import { ok } from "../../../core/result.ts";
import { storageAccounts, storageLife } from "../../models/storage-life.ts";
import { emptyModel, type StorageSystem } from "../../models/storage-model.ts";
import { bytesOf, helloServer, nodeSource } from "../../support/archives.ts";
import { principalOf, startLocal, type TestPlatform } from "../../support/local-platform.ts";
import { runs, within } from "../../support/runs.ts";

const source = nodeSource(helloServer());

const localSystem = ({ controlPlane }: TestPlatform): StorageSystem => ({
  controlPlane,
  principal: principalOf,
  deploy: async (account, fields) => {
    const principal = principalOf(account);
    const archive = (await controlPlane.receiveSource(principal, bytesOf(source)))._unsafeUnwrap();
    const run = await controlPlane.deploy(principal, { fields, archive });
    return run.isErr() ? run.map(() => []) : ok(await Array.fromAsync(run.value.follow()));
  },
  pass: async () => undefined,
});

test("any life of volumes on one machine is the model's", { timeout: within(120_000) }, async () => {
  await fc.assert(
    fc.asyncProperty(storageLife(25), async (life) => {
      await using platform = await startLocal({ runner: "process" });
      await fc.asyncModelRun(() => ({ model: emptyModel(storageAccounts), real: localSystem(platform) }), life);
    }),
    runs(4),
  );
});
