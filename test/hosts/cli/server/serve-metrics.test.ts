/** `portside serve --metrics-port`: metrics on a separate port. */
import { createServer } from "node:net";
import { expect, test } from "vitest";
import { type Serving, startServing } from "../../../../hosts/cli/server/serving.ts";
import { resolveSettings } from "../../../../hosts/composition/settings.ts";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { portside } from "../../../support/cli/terminal.ts";
import { seriesIn } from "../../../support/logs/prometheus-text.ts";

const quiet = { port: "0", ingressPort: "0", logLevel: "silent", runner: "process" };

const deployTo = async ({ url, apiKey = "" }: Serving): Promise<string> => {
  const body = new FormData();
  for (const [name, value] of Object.entries({ function_name: "app", volumes: "{}" })) body.set(name, value);
  body.set("source_archive", new Blob([nodeSource(helloServer("hi")) as Uint8Array<ArrayBuffer>]), "s.tar.gz");
  return (await fetch(`${url}/v1/deploy`, { method: "POST", body, headers: { "x-api-key": apiKey } })).text();
};

test("counts a deploy, its instance and its requests", async () => {
  using folder = folderWith();
  const serving = await startServing(resolveSettings({ ...quiet, dataDir: folder.path, metricsPort: "0" }, {}));
  try {
    expect(await deployTo(serving)).toContain('"DONE"');
    expect((await fetch(`${serving.url}/metrics`)).status).toBe(404);
    const answer = await fetch(serving.metrics as string);
    expect(seriesIn(await answer.text())).toMatchObject({
      'portside_deploys_total{status="DONE",reason=""}': 1,
      'portside_api_request_seconds_count{method="POST",route="/v1/deploy",status="200"}': 1,
      'portside_api_request_seconds_count{method="any",route="none",status="404"}': 1,
      'portside_instances{state="idle"}': 1,
      process_start_time_seconds: expect.any(Number),
    });
    expect(new URL(serving.metrics as string).port).not.toBe(new URL(serving.url).port);
  } finally {
    await serving.stop();
  }
  await expect(fetch(serving.metrics as string)).rejects.toThrow("fetch failed");
});

test("serves no metrics without the setting", async () => {
  using folder = folderWith();
  const serving = await startServing(resolveSettings({ ...quiet, dataDir: folder.path, provider: "memory" }, {}));
  expect(serving.metrics).toBeUndefined();
  await serving.stop();
});

test("reports a port that another process uses, and stops", async () => {
  using folder = folderWith();
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const { port } = other.address() as { port: number };
  const args = ["--data-dir", folder.path, "--port", "0", "--ingress-port", "0", "--log-level", "silent"];
  const { code, stderr } = await portside(["serve", ...args, "--metrics-port", String(port)]);
  expect(code).toBe(1);
  expect(stderr).toContain(`Port ${port} (metrics) is in use.`);
  expect(stderr).toContain("--metrics-port");
  const serving = await startServing(resolveSettings({ ...quiet, dataDir: folder.path }, {}));
  await serving.stop();
  await new Promise((resolve) => other.close(resolve));
});
