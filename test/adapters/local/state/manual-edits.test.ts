/** Templates that were edited by hand. The platform reads mounts only from templates, so the edits take effect. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { ServiceDocument } from "../../../../adapters/shared/deploy/service-document.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { nodeContractSources } from "../../../support/providers/contract-sources.ts";
import { principalOf, startLocalIn, type TestPlatform } from "../../../support/providers/local-platform.ts";

const attached = async ({ controlPlane }: TestPlatform): Promise<Record<string, string[]>> =>
  Object.fromEntries(
    (await controlPlane.listVolumes(principalOf("acme")))
      ._unsafeUnwrap()
      .map(({ name, attached_to }) => [name, attached_to]),
  );

/** Edits the serving template in the state file. */
const edit = (dataDir: string, change: (document: ServiceDocument) => void): void => {
  const db = new DatabaseSync(join(dataDir, "state.sqlite"));
  const { serving } = db.prepare("SELECT serving FROM services WHERE name = 'app'").get() as { serving: string };
  const document = JSON.parse(serving) as ServiceDocument;
  change(document);
  db.prepare("UPDATE services SET serving = ? WHERE name = 'app'").run(JSON.stringify(document));
  db.close();
};

test("shows and applies a mount that was removed or added by hand", async () => {
  using folder = folderWith();
  const options = { runner: "process" } as const;
  {
    await using platform = await startLocalIn(folder.path, options);
    for (const name of ["one", "two"])
      (await platform.controlPlane.createVolume(principalOf("acme"), { name }))._unsafeUnwrap();
    await platform.up(nodeContractSources.files(), { volumes: { "/srv/by-hand/a": "one" } });
    expect(await attached(platform)).toEqual({ one: ["app"], two: [] });
  }
  edit(folder.path, ({ spec }) => {
    for (const mount of spec.mounts) mount.volume = "two";
  });
  {
    await using platform = await startLocalIn(folder.path, { ...options, acceptState: true });
    expect(await attached(platform)).toEqual({ one: [], two: ["app"] });
    const remove = (name: string) => platform.controlPlane.deleteVolume(principalOf("acme"), { name });
    expect((await remove("two"))._unsafeUnwrapErr()).toMatchObject({ kind: "conflict" });
    expect((await remove("one")).isOk()).toBe(true);
  }
  edit(folder.path, ({ spec }) => {
    spec.mounts.length = 0;
  });
  await using platform = await startLocalIn(folder.path, { ...options, acceptState: true });
  expect(await attached(platform)).toEqual({ two: [] });
});
