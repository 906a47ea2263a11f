import { expect, test } from "vitest";
import { helloServer, nodeSource } from "../../support/archives/archives.ts";
import { recordsOf, serveMemory } from "../../support/http/api.ts";

test("a deploy over HTTP ends with DONE and is listed", async () => {
  await using api = await serveMemory();
  const answer = await api.deploy({ function_name: "my_app", volumes: "{}" }, nodeSource(helloServer()));
  expect(answer.status).toBe(200);
  expect(recordsOf(answer).at(-1)).toMatchObject({ status: "DONE", url: "https://my-app.memory.invalid" });
  const list = await api.call("GET", "/v1/deployment/list");
  expect(list.json).toMatchObject([{ name: "my-app", status: "READY" }]);
});
