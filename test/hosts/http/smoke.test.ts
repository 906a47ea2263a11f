import { expect, test } from "vitest";
import { recordsOf, serveMemory } from "../../support/api.ts";
import { helloServer, nodeSource } from "../../support/archives.ts";

test("a deploy over HTTP ends with DONE and is listed", async () => {
  await using api = await serveMemory();
  const answer = await api.deploy({ function_name: "my_app", volumes: "{}" }, nodeSource(helloServer()));
  expect(answer.status).toBe(200);
  expect(recordsOf(answer).at(-1)).toMatchObject({ status: "DONE", url: "https://my-app.memory.invalid" });
  const list = await api.call("GET", "/v1/deployment/list");
  expect(list.json).toMatchObject([{ name: "my-app", status: "READY" }]);
});
