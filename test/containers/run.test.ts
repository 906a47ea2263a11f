/** `portside run` of a folder with a Dockerfile: deploys on save, and removes everything from the engine. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { helloServer } from "../support/archives/archives.ts";
import { folderWith } from "../support/archives/folders.ts";
import { portside } from "../support/cli/terminal.ts";
import { containersOf, imagesOf } from "../support/providers/at-docker.ts";
import { needs } from "../support/vitest/machine.ts";
import { watchOutput } from "../support/vitest/watch-output.ts";

const Dockerfile = `FROM node:24-bookworm-slim
COPY server.mjs /
CMD ["node", "/server.mjs"]
`;

test("a save builds the image again, and Ctrl-C removes everything", async (context) => {
  needs(context, "base images");
  using folder = folderWith({ Dockerfile, "server.mjs": helloServer("first") });
  writeFileSync(join(folder.path, "portside.json"), JSON.stringify({ name: "saved", volumes: {} }));
  const output = watchOutput();
  const stop = new AbortController();
  const ended = portside(["run", folder.path], { signal: stop.signal, onOutput: output.onOutput });
  const url = (await output.until(/^(http:\/\/127\.0\.0\.1:\d+) {2}\(/m))[1] as string;
  expect(await (await fetch(url)).text()).toBe("first");

  const seen = output.length();
  writeFileSync(join(folder.path, "server.mjs"), helloServer("second"));
  await output.until(/^DONE/m, seen);
  expect(await (await fetch(url)).text()).toBe("second");
  expect((await imagesOf("saved")).length).toBeGreaterThan(0);

  stop.abort();
  expect(await ended).toMatchObject({ code: 0 });
  expect([...(await imagesOf("saved")), ...(await containersOf("saved"))]).toEqual([]);
});
