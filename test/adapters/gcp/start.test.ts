/** A platform does not start on a project that cannot work, and says everything that is missing. */
import { expect, test } from "vitest";
import { createGcpProvider } from "../../../adapters/gcp/index.ts";
import { createSystemClock, randomIds } from "../../../adapters/shared/system.ts";
import { startFakeCloud } from "../../fakes/gcp/cloud.ts";
import { folderWith } from "../../support/folders.ts";
import { keepingLogger } from "../../support/silent-logger.ts";

const opened = async () => {
  const folder = folderWith();
  const cloud = await startFakeCloud();
  const { logger, said } = keepingLogger();
  const start = () =>
    createGcpProvider(cloud.config(folder.path), { clock: createSystemClock(), ids: randomIds, logger });
  const close = async () => {
    await cloud.close();
    folder[Symbol.dispose]();
  };
  return { cloud, start, said, close };
};

test("with an API, a permission and the builder missing, all three are told with their commands", async () => {
  const { cloud, start, close } = await opened();
  cloud.project.apis.delete("run.googleapis.com");
  cloud.project.permissions.delete("cloudscheduler.jobs.create");
  cloud.project.resources.clear();
  const message = await start().then(
    () => "it started",
    (error: Error) => error.message,
  );
  expect(message).toContain("The platform cannot work as it is set up:");
  expect(message).toContain("gcloud services enable run.googleapis.com");
  expect(message).toContain("--role roles/cloudscheduler.admin");
  expect(message).toContain("gcloud iam service-accounts create portside-build");
  await close();
});

test("what may not be looked at is a warning in the log, and it starts", async () => {
  const { cloud, start, said, close } = await opened();
  cloud.project.forbidden.add("serviceusage.googleapis.com");
  const { close: stop } = await start();
  expect(said.join("\n")).toContain("APIs");
  await stop();
  await close();
});

test("a project whose deleted objects are gone too soon is refused", async () => {
  const { cloud, start, close } = await opened();
  cloud.storage.insertBucket({
    name: `${cloud.storage.project}-portside-volumes`,
    softDeletePolicy: { retentionDurationSeconds: "0" },
  });
  await expect(start()).rejects.toThrow("keeps what is deleted for 0 days, not 7");
  await close();
});

test("a bucket of somebody else's in the place of the platform's own is refused", async () => {
  const { cloud, start, close } = await opened();
  const name = `${cloud.storage.project}-portside-volumes`;
  cloud.storage.insertBucket({ name });
  cloud.storage.foreign.add(name);
  await expect(start()).rejects.toThrow(`The bucket '${name}' is not this project's`);
  await close();
});
