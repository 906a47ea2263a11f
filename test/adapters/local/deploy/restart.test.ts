/** Restarts and changes of variables with real services. */
import { expect, test } from "vitest";
import type { ControlPlane } from "../../../../core/control-plane.ts";
import type { RawFields } from "../../../../core/domain/wire/fields.ts";
import { nodeSource } from "../../../support/archives/archives.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { principalOf, startLocalIn } from "../../../support/providers/local-platform.ts";

const acme = principalOf("acme");

/** Responds with its own id and a variable. */
const code = `
import { createServer } from "node:http";
const id = crypto.randomUUID();
createServer((_, response) => response.end(JSON.stringify([id, process.env.COLOUR ?? null]))).listen(process.env.PORT);
`;

test("a restart replaces the instance, and a change of variables reaches the service, without a failed request", async () => {
  using folder = folderWith();
  await using platform = await startLocalIn(folder.path);
  const url = await platform.up(nodeSource(code), { env: { COLOUR: "red" } });
  const run = async (
    call: keyof Pick<ControlPlane, "restartDeployment" | "setEnvironment">,
    request: RawFields = {},
  ) => {
    const started = (await platform.controlPlane[call](acme, { name: "app", ...request }))._unsafeUnwrap();
    expect((await Array.fromAsync(started.follow())).at(-1)).toMatchObject({ status: "DONE", url });
  };
  const answer = async (): Promise<[string, string | null]> => (await (await fetch(url)).json()) as never;
  const statuses: number[] = [];
  const stop = new AbortController();
  const load = (async () => {
    while (!stop.signal.aborted) statuses.push((await fetch(url)).status);
  })();
  const seen = [await answer()];
  await run("restartDeployment");
  seen.push(await answer());
  await run("setEnvironment", { set: { COLOUR: "blue" } });
  seen.push(await answer());
  await run("setEnvironment", { unset: ["COLOUR"] });
  seen.push(await answer());
  stop.abort();
  await load;
  expect(seen.map(([, colour]) => colour)).toEqual(["red", "red", "blue", null]);
  expect(new Set(seen.map(([id]) => id)).size).toBe(4);
  expect(new Set(statuses)).toEqual(new Set([200]));
});
