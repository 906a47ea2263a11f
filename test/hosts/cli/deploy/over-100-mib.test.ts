/** Deploys a folder with an archive of more than 100 MiB on the local provider. */
import { randomFillSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createClient } from "../../../../hosts/client/index.ts";
import { SOURCE_VOLUME } from "../../../../hosts/client/storage/deploy-source.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { portside } from "../../../support/cli/terminal.ts";
import { serveApi } from "../../../support/http/api.ts";
import { startLocal } from "../../../support/providers/local-platform.ts";

const server = `
import { statSync } from "node:fs";
import { createServer } from "node:http";
createServer((_, response) => response.end(String(statSync("random.bin").size))).listen(process.env.PORT);
process.on("SIGTERM", () => process.exit(0));
`;

test("deploys 105 MiB that cannot be compressed, and deletes the uploaded object", async () => {
  using folder = folderWith({
    "package.json": JSON.stringify({ name: "large", type: "module", scripts: { start: "node server.js" } }),
    "server.js": server,
  });
  const random = randomFillSync(Buffer.alloc(105 * 1024 ** 2));
  writeFileSync(join(folder.path, "random.bin"), random);
  await using platform = await startLocal();
  await using api = await serveApi(platform.local.ports);
  const key = await api.key();
  const env = { PORTSIDE_URL: api.url, PORTSIDE_API_KEY: key };
  const { code, stdout, stderr } = await portside(["deploy", folder.path, "--name", "large"], { env });
  expect(stderr).toContain("The packed source is 105.1 MiB. Uploading it to the volume 'portside-sources'.");
  expect(code).toBe(0);
  const url = stdout.trim().split("\n").at(-1) as string;
  expect(await (await fetch(url)).text()).toBe(String(random.length));
  const { objects } = await createClient({ url: api.url, key }).listObjects({ volume: SOURCE_VOLUME });
  expect(objects).toEqual([]);
});
