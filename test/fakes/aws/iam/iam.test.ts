/** The fake IAM matches the service model when the official client calls it. */
import { CreateRoleCommand, GetRolePolicyCommand, PutRolePolicyCommand } from "@aws-sdk/client-iam";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type FakeIam, startFakeIam } from "./server.ts";

let iam: FakeIam;
beforeEach(async () => {
  iam = await startFakeIam();
});
afterEach(() => iam.close());

const refused = (sent: Promise<unknown>, name: string) => expect(sent).rejects.toMatchObject({ name });
const create = (RoleName: string, AssumeRolePolicyDocument = "{}") =>
  iam.client.send(new CreateRoleCommand({ RoleName, AssumeRolePolicyDocument }));
const at = { RoleName: "r", PolicyName: "p" };
const put = (PolicyDocument: string) => iam.client.send(new PutRolePolicyCommand({ ...at, PolicyDocument }));
const get = () => iam.client.send(new GetRolePolicyCommand(at));

test("creates a role once; its policies must be JSON and are returned escaped", async () => {
  await refused(put("{}"), "NoSuchEntityException");
  await refused(create("r", "{"), "MalformedPolicyDocumentException");
  expect((await create("r")).Role?.Arn).toBe("arn:aws:iam::123456789012:role/r");
  await refused(create("r"), "EntityAlreadyExistsException");
  await refused(get(), "NoSuchEntityException");
  await put('{"a": "b/*"}');
  expect((await get()).PolicyDocument).toBe(encodeURIComponent('{"a": "b/*"}'));
  await refused(create("not a name"), "ValidationError");
});

test("a new role may appear late, and the quota is enforced", async () => {
  iam.looksUntilVisible = 1;
  await create("r");
  await refused(put("{}"), "NoSuchEntityException");
  await put("{}");
  iam.maxRoles = 1;
  await refused(create("s"), "LimitExceededException");
});

test("injects faults", async () => {
  iam.faults.inject({ nth: 1, kind: "resource_exhausted" });
  await refused(create("r"), "Throttling");
  iam.faults.inject({ nth: 1, kind: "permission_denied" });
  await refused(create("r"), "AccessDenied");
});
