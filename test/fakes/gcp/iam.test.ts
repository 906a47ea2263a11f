import { afterAll, beforeAll, expect, test } from "vitest";
import { FakeIam } from "./iam.ts";
import type { RestServer } from "./rest-server.ts";

let server: RestServer;
beforeAll(async () => {
  server = await new FakeIam().open();
});
afterAll(() => server.close());

const request = async (path: string, body?: object) => {
  const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const response = await fetch(`${server.origin}/v1/projects/${path}`, sent);
  return { status: response.status, body: await response.json() };
};

test("returns a service account in the recorded form, whatever project the request names", async () => {
  const email = "one-account@p.iam.gserviceaccount.com";
  const serviceAccount = { displayName: "One" };
  const created = await request("p/serviceAccounts", { accountId: "one-account", serviceAccount });
  expect(created).toEqual({
    status: 200,
    body: {
      name: `projects/p/serviceAccounts/${email}`,
      projectId: "p",
      email,
      displayName: "One",
      uniqueId: expect.stringMatching(/^\d{21}$/),
      oauth2ClientId: expect.any(String),
      etag: expect.any(String),
    },
  });
  expect(await request(`-/serviceAccounts/${email}`)).toEqual(created);
});

test("adds the status to errors, as recorded", async () => {
  const message = "Unknown service account";
  expect(await request("p/serviceAccounts/absent@p.iam.gserviceaccount.com")).toEqual({
    status: 404,
    body: {
      error: {
        code: 404,
        message,
        status: "NOT_FOUND",
        errors: [{ domain: "global", reason: "notFound", message }],
      },
    },
  });
  await request("p/serviceAccounts", { accountId: "same-account" });
  const again = await request("p/serviceAccounts", { accountId: "same-account" });
  expect(again).toMatchObject({ status: 409, body: { error: { status: "ALREADY_EXISTS" } } });
});
