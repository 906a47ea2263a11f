/**
 * Adapters that break their contract: they throw instead of returning an error, or end a stream without a last event.
 * The deploy ends with `internal`, the server keeps running, and only its log has the cause.
 */
import { expect, test } from "vitest";
import { notFound } from "../../../../core/errors.ts";
import { errAsync, okAsync } from "../../../../core/result.ts";
import {
  accepted,
  deployed,
  listed,
  recorder,
  recordsOf,
  startMemory,
} from "../../../support/providers/memory-platform.ts";

const throwing = (method: "build" | "rollout" | "noteDeploy") => {
  const bug = () => {
    throw new Error("s3cret of the provider");
  };
  const { logger, logged } = recorder();
  const platform = startMemory({
    logger,
    around: ({ services, builder }) =>
      method === "build" ? { builder: { ...builder, build: bug } } : { services: { ...services, [method]: bug } },
  });
  return { platform, logged };
};

test.each(["build", "rollout", "noteDeploy"] as const)(
  "%s: ends as `internal`, and only the log has the cause",
  async (method) => {
    const { platform, logged } = throwing(method);
    const records = await recordsOf(platform, await accepted(platform));
    expect(records.at(-1)).toMatchObject({ status: "ERROR", reason: "internal" });
    expect(JSON.stringify(records)).not.toContain("s3cret");
    expect(logged).toContain("a deploy failed with a bug");
    expect(platform.kept.size).toBe(0);
    await platform.controlPlane.close();
  },
);

test("the list shows that the deploy ended with `internal`", async () => {
  let broken = false;
  const platform = startMemory({
    around: ({ builder }) => ({
      builder: {
        build: (...args) => {
          if (broken) throw new Error("bug");
          return builder.build(...args);
        },
      },
    }),
  });
  await deployed(platform);
  broken = true;
  await recordsOf(platform, await accepted(platform));
  expect(await listed(platform)).toMatchObject([
    { status: "READY", last_deploy: { status: "ERROR", reason: "internal" } },
  ]);
});

test("an event stream without a last event is a bug, too", async () => {
  const platform = startMemory({ around: () => ({ builder: { build: async function* () {} } }) });
  expect((await recordsOf(platform, await accepted(platform))).at(-1)).toMatchObject({ reason: "internal" });
});

test("a source that cannot be discarded affects neither the deploy nor the server", async () => {
  const { logger, logged } = recorder();
  const platform = startMemory({ logger });
  const discard = () => Promise.reject(new Error("EPERM"));
  const source = { digest: "sha256:0", bytes: 1, open: async function* () {}, discard };
  const deploy = (fields: Record<string, unknown>) =>
    platform.controlPlane.deploy(platform.principal(), {
      fields: { function_name: "app", volumes: {}, ...fields },
      archive: { kind: "accepted", source },
    });
  const records = await recordsOf(platform, (await deploy({}))._unsafeUnwrap());
  expect(records.at(-1)?.status).toBe("DONE");
  expect((await deploy({ port: 0 }))._unsafeUnwrapErr().kind).toBe("invalid_input");
  await platform.controlPlane.close();
  expect(logged).toEqual(["a source was not discarded", "a source was not discarded"]);
});

test("an error kind that no port may return ends the deploy as `internal`, without its message", async () => {
  let finds = 0;
  const platform = startMemory({
    around: ({ services }) => ({
      services: {
        ...services,
        // The first read is the validation, the second the plan of the deploy's turn.
        find: (...args) => (finds++ === 1 ? errAsync(notFound("s3cret") as never) : services.find(...args)),
      },
    }),
  });
  const records = await recordsOf(platform, await accepted(platform));
  expect(records.at(-1)).toMatchObject({ status: "ERROR", reason: "internal" });
  expect(JSON.stringify(records)).not.toContain("s3cret");
});

test("an empty page of objects is the last one, even if the storage reports more", async () => {
  const platform = startMemory({
    around: ({ volumes }) => ({
      volumes: { ...volumes, objects: () => okAsync({ objects: [], folders: [], more: true }) },
    }),
  });
  const { controlPlane, principal } = platform;
  (await controlPlane.createVolume(principal(), { name: "data" }))._unsafeUnwrap();
  expect((await controlPlane.listObjects(principal(), { volume: "data" }))._unsafeUnwrap()).toEqual({
    objects: [],
    next_page_token: null,
  });
});
