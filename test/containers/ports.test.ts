/** A port that another process takes between its choice and the container's start is not a failure of the service. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { silent } from "../../adapters/local/accounts/identity.ts";
import { openContainers } from "../../adapters/local/containers/containers.ts";
import { findEngine } from "../../adapters/local/containers/engine.ts";
import { type AccountId, parseAccount } from "../../core/domain/accounts/account.ts";
import { MiB } from "../../core/domain/accounts/limits.ts";
import { folderWith } from "../support/archives/folders.ts";
import { needs } from "../support/vitest/machine.ts";

test("recognizes a taken port, unlike errors of the service itself", async (context) => {
  needs(context, "base images");
  using folder = folderWith();
  const engine = await findEngine(process.env);
  if (typeof engine === "string") throw new Error(engine);
  const containers = await openContainers(engine, {
    scope: "porttest",
    mark: "porttest.1",
    imageScope: "porttest",
    folder: folder.path,
    logger: silent,
    allowedPorts: [],
  });
  const taken = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => taken.once("listening", resolve));
  const start = (image: string) =>
    containers.startImage(
      {
        id: `porttest.1.${image.length}`,
        owner: parseAccount("acme") as AccountId,
        image,
        env: {},
        folders: [],
        binds: [],
        limits: { memory: 64 * MiB, cpu: 1, processes: 32 },
        port: { inside: 8080, host: (taken.address() as AddressInfo).port },
        labels: {},
      },
      () => undefined,
    ).exited;
  try {
    expect(await start("node:24-bookworm-slim")).toMatchObject({ lostPort: true });
    expect(await start("never-built")).toMatchObject({ failure: { reason: "image_not_found" } });
  } finally {
    taken.close();
    await containers.close();
  }
});
