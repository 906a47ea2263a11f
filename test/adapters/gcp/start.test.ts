/** The platform does not start on a broken project: the cases of every cloud, and those specific to Cloud Storage. */
import { expect, test } from "vitest";
import { gcp } from "../../clouds/gcp.ts";
import { openFakes, startTests } from "../../clouds/start.ts";

startTests(gcp, {
  lacking: {
    take: ({ project }) => {
      project.apis.delete("run.googleapis.com");
      project.permissions.delete("cloudscheduler.jobs.create");
      project.resources.clear();
    },
    words: [
      "gcloud services enable run.googleapis.com",
      "--role roles/cloudscheduler.admin",
      "gcloud iam service-accounts create portside-build",
    ],
  },
  hidden: { hide: ({ project }) => project.forbidden.add("serviceusage.googleapis.com"), word: "APIs" },
});

test("refuses a project that retains deleted objects for too short a time", async () => {
  const { fakes, start, close } = await openFakes(gcp);
  fakes.storage.insertBucket({
    name: `${fakes.storage.project}-portside-volumes`,
    softDeletePolicy: { retentionDurationSeconds: "0" },
  });
  await expect(start()).rejects.toThrow("is 0 d instead of 7 d");
  await close();
});

test("refuses a claims bucket that belongs to another project", async () => {
  const { fakes, start, close } = await openFakes(gcp);
  const name = `${fakes.storage.project}-portside-volumes`;
  fakes.storage.insertBucket({ name });
  fakes.storage.foreign.add(name);
  await expect(start()).rejects.toThrow(`The bucket '${name}' belongs to another project`);
  await close();
});
