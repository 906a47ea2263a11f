/** The doctor reports exactly what is missing, with the command that fixes it. */
import { readFileSync } from "node:fs";
import type { CORSRule } from "@aws-sdk/client-s3";
import { STSClient } from "@aws-sdk/client-sts";
import { expect, onTestFinished, test } from "vitest";
import { clientSource, packages } from "../../../adapters/aws/clients.ts";
import { awsSettingsOf, sharedResourcesSchema } from "../../../adapters/aws/config.ts";
import { diagnoseAws } from "../../../adapters/aws/doctor.ts";
import { actionsOf, needs, policyOutputs, sqlNeeds } from "../../../adapters/aws/requirements.ts";
import { listQuotas } from "../../../adapters/aws/service-quotas.ts";
import { corsRules } from "../../../adapters/aws/volumes/bucket-settings.ts";
import { quoteForShell } from "../../../core/domain/deploy/source/quote-for-shell.ts";
import { type Finding, refusalToStart } from "../../../core/domain/wire/check.ts";
import { type FakeAccount, fakeAccount } from "../../fakes/aws/account.ts";
import { fakeQuotas } from "../../fakes/aws/quotas.ts";
import { serveAws } from "../../fakes/aws/server.ts";
import { checkSignature } from "../../fakes/aws/signature.ts";
import { REGION } from "../../fakes/aws/test-config.ts";
import { Faults } from "../../fakes/faults.ts";

const basis = { region: "eu-west-1", dataDir: "/nowhere" };
const parts = Object.keys(sharedResourcesSchema.shape).filter((name) => name !== "moreListenerArns");
const policyArn = (output: string) => `arn:aws:iam::123456789012:policy/${output}`;

const whole = (): FakeAccount => {
  const account = fakeAccount();
  account.outputs = Object.fromEntries(parts.map((name) => [name, name === "scheme" ? "https" : `the-${name}`]));
  for (const output of policyOutputs) account.outputs[output] = policyArn(output);
  return account;
};

/** Actions that only SQL needs. */
const sqlOnly = (): string[] => {
  const others = new Set(Object.values(needs).flatMap(actionsOf));
  return Object.values(sqlNeeds)
    .flatMap(actionsOf)
    .filter((one) => !others.has(one));
};

const look = ({ clients }: FakeAccount, more: object = {}): Promise<Finding[]> =>
  Array.fromAsync(diagnoseAws(awsSettingsOf({ ...basis, ...more }), clientSource("eu-west-1", clients)));
/** The resources that the doctor checks with a call. */
const LOOKED_AT = [
  "cluster",
  "listenerArn",
  "stateBucket",
  "buildProject",
  "repository",
  "logGroup",
  "executionRoleArn",
  "filesRoleArn",
  "schedulerRoleArn",
];

const missing = (findings: readonly Finding[]) => findings.filter(({ verdict }) => verdict !== "ok");

test("reports nothing missing in a complete account", async () => {
  const findings = await look(whole());
  expect(missing(findings)).toEqual([]);
  expect(refusalToStart(findings)).toBeUndefined();
  expect(findings).toHaveLength(2 + LOOKED_AT.length + Object.keys(needs).length + 2 + 6);
});

test.each(parts)(
  "reports a stack without %s, with the command that creates it, unless it is configured",
  async (name) => {
    const account = whole();
    delete account.outputs?.[name];
    const [finding, ...more] = missing(await look(account));
    expect(more).toEqual([]);
    expect(finding).toMatchObject({
      what: `shared resource ${name}`,
      verdict: "missing",
      fix: expect.stringContaining("aws cloudformation deploy --stack-name portside --region eu-west-1"),
    });
    const value = { subnets: ["a"], scheme: "http" }[name] ?? "given";
    expect(missing(await look(account, { shared: { [name]: value } }))).toEqual([]);
  },
);

test("without the stack, every resource is missing and the platform does not start", async () => {
  const account = whole();
  account.outputs = undefined;
  const findings = missing(await look(account));
  expect(findings.map(({ what }) => what)).toEqual([
    "stack portside, with the shared resources",
    ...parts.map((name) => `shared resource ${name}`),
  ]);
  expect(findings[0]?.fix).toMatch(/ --parameter-overrides Domain=YOUR\.DOMAIN$/);
  expect(refusalToStart(findings)).toContain("aws cloudformation deploy");
});

test("if every resource is configured, does not read the stack", async () => {
  const account = whole();
  account.outputs = undefined;
  const shared = Object.fromEntries(
    parts.map((name) => [name, name === "subnets" ? ["a", "b"] : name === "scheme" ? "http" : name]),
  );
  expect(missing(await look(account, { shared }))).toEqual([]);
});

test.each(Object.entries(needs))(
  "warns if the last required action of %s is not allowed, and names it",
  async (service, need) => {
    const account = whole();
    const last = actionsOf(need).at(-1) as string;
    account.allowed.delete(last);
    expect(missing(await look(account))).toContainEqual({
      what: service,
      verdict: "warning",
      words: `${need.why}; not allowed on all resources: ${last}`,
      fix: `aws iam attach-role-policy --role-name portside --policy-arn ${policyArn(need.policy)}`,
    });
  },
);

test("warns about buckets of volumes without CORS rules, with the command that sets them", async () => {
  const account = whole();
  const [rule] = corsRules() as [CORSRule];
  account.volumes.set("ps-one", corsRules());
  account.volumes.set("ps-star", [{ ...rule, AllowedHeaders: ["*"] }]);
  expect(missing(await look(account))).toEqual([]);
  account.volumes.set("ps-two", undefined);
  account.volumes.set("ps-three", [{ ...rule, AllowedMethods: ["GET"] }]);
  expect(missing(await look(account))).toEqual([
    {
      what: "web pages may use the URLs of volumes",
      verdict: "warning",
      words: expect.stringContaining("buckets without Portside's CORS rules: 2 of 4"),
      fix: expect.stringContaining("aws s3api put-bucket-cors --bucket ps-two --cors-configuration '{"),
    },
  ]);
  const app = { ID: "Ann's pages", AllowedOrigins: ["https://app.example"], AllowedMethods: ["GET"] };
  account.volumes.set("ps-two", [app]);
  const [finding] = missing(await look(account));
  expect(finding?.fix).toContain(quoteForShell(JSON.stringify({ CORSRules: [app, ...corsRules()] })));
});

test("simulates the permissions of a session's role, or of the user", async () => {
  const account = whole();
  await look(account);
  expect(new Set(account.simulations.map(({ PolicySourceArn }) => PolicySourceArn))).toEqual(
    new Set(["arn:aws:iam::123456789012:role/portside"]),
  );
  account.arn = "arn:aws:iam::123456789012:user/ann";
  account.allowed.clear();
  const [first] = missing(await look(account));
  expect(account.simulations.at(-1)?.PolicySourceArn).toBe(account.arn);
  expect(first?.fix).toBe(`aws iam attach-user-policy --user-name ann --policy-arn ${policyArn("platformPolicyArn")}`);
});

const SSO_ROLE = "AWSReservedSSO_Portside-Operators_0123456789abcdef";

const bySso = (): FakeAccount =>
  Object.assign(whole(), {
    arn: `arn:aws:sts::123456789012:assumed-role/${SSO_ROLE}/ann@example.com`,
    rolePath: "/aws-reserved/sso.amazonaws.com/eu-west-1/",
  });

test("simulates the permissions of a permission set's role with its path", async () => {
  const account = bySso();
  expect(missing(await look(account))).toEqual([]);
  expect(account.simulations.at(-1)?.PolicySourceArn).toBe(
    `arn:aws:iam::123456789012:role/aws-reserved/sso.amazonaws.com/eu-west-1/${SSO_ROLE}`,
  );
  account.allowed.clear();
  expect(missing(await look(account))[0]?.fix).toBe(
    `in IAM Identity Center, attach ${policyArn("platformPolicyArn")} to the permission set Portside-Operators as a customer managed policy`,
  );
});

test("warns that the permissions of a role with a path were not checked if the role is not readable", async () => {
  const account = Object.assign(bySso(), { mayGetOwnRole: false });
  expect(missing(await look(account))).toEqual([
    expect.objectContaining({
      what: "permissions",
      verdict: "warning",
      words: expect.stringMatching(/^not checked: .* cannot be found.* needs iam:GetRole on the role, which failed: /),
    }),
  ]);
  account.rolePath = "/";
  expect(missing(await look(account))).toEqual([]);
});

test("checks the permissions of SQL only if the configuration or the stack enables it", async () => {
  const account = whole();
  for (const one of sqlOnly()) account.allowed.delete(one);
  expect(missing(await look(account))).toEqual([]);
  const byHand = missing(await look(account, { athenaWorkgroup: "mine" }));
  expect(byHand.map(({ what }) => what)).toEqual(Object.keys(sqlNeeds));
  account.outputs = { ...account.outputs, athenaWorkgroup: "the-stacks" };
  const byStack = missing(await look(account));
  expect(byStack.map(({ what, fix }) => [what, fix])).toEqual([
    ["athena", `aws iam attach-role-policy --role-name portside --policy-arn ${policyArn("platformSqlPolicyArn")}`],
  ]);
});

test.each([...LOOKED_AT, "athenaWorkgroup"])("reports a deleted resource with its fix: %s", async (part) => {
  const account = whole();
  account.outputs = { ...account.outputs, athenaWorkgroup: "the-athenaWorkgroup" };
  const value = account.outputs[part] as string;
  account.gone.add(value);
  const findings = await look(account);
  expect(missing(findings)).toEqual([
    {
      what: `${part} ${value}`,
      verdict: "missing",
      words: expect.stringMatching(/^does not exist/),
      fix: expect.stringContaining(
        part === "athenaWorkgroup"
          ? "set a different workgroup with --aws-athena-workgroup"
          : `set a different '${part}' in the section 'aws' of portside.config.json`,
      ),
    },
  ]);
  expect(refusalToStart(findings)).toContain(value);
});

test("without credentials, checks nothing further", async () => {
  const account = whole();
  account.arn = undefined;
  expect(await look(account)).toEqual([expect.objectContaining({ what: "credentials", verdict: "missing" })]);
  expect(account.simulations).toEqual([]);
});

test("a check without permission is a warning and does not prevent the start", async () => {
  const account = whole();
  account.mayLook = false;
  const findings = missing(await look(account));
  expect(findings.map(({ what, verdict }) => [what, verdict])).toEqual([
    ...LOOKED_AT.map((part) => [`${part} the-${part}`, "warning"]),
    ["permissions", "warning"],
    ["IAM role quota", "warning"],
    ["web pages may use the URLs of volumes", "warning"],
  ]);
  expect(refusalToStart(findings)).toBeUndefined();
});

const maximaOf = (findings: readonly Finding[]): Record<string, string> =>
  Object.fromEntries(
    findings.flatMap(({ what, words }) => (what.startsWith("limit: ") ? [[what.slice(7), words]] : [])),
  );

test("reports the lowest ceilings, by the quotas of the account, and how to raise them", async () => {
  const account = whole();
  expect(maximaOf(await look(account))).toEqual({
    deployments: expect.stringMatching(
      /^5 \(.*vCPU.*: 6; .*To raise it: aws service-quotas .* --quota-code L-3032A538 --region eu-west-1 /,
    ),
    volumes: expect.stringMatching(/^1000 .*according to AWS's documentation.*Support/),
    "concurrent builds": expect.stringMatching(/^1 .* --service-code codebuild --quota-code L-2DC20C30 /),
    "concurrent runs of schedules": expect.stringMatching(/^1000 .* --quota-code L-B99A9384 /),
    "followed logs": expect.stringMatching(/^30 .*: 300; .*--aws-log-reads-per-minute, up to 600 /),
  });
  account.quotas.applied.set("fargate", [
    { QuotaCode: "L-0" },
    { QuotaCode: "L-1" },
    { QuotaCode: "L-3032A538", Value: 4000, Adjustable: true },
  ]);
  const raised = maximaOf(await look(account, { logReadsPerMinute: 900 }));
  expect(raised["deployments"]).toMatch(
    /^99 \(target groups of the load balancer: 100; .*AWS does not raise the quota/,
  );
  expect(raised["followed logs"]).toMatch(/^60 \(log reads per minute: 600; .*AWS does not raise the quota/);
});

test("checks every load balancer of the stack, and counts their ceilings together", async () => {
  const account = whole();
  const fargate = [{ QuotaCode: "L-3032A538", Value: 4000, Adjustable: true }];
  account.quotas.applied.set("fargate", fargate);
  Object.assign(account.outputs ?? {}, {
    listenerArn2: "second",
    listenerArn3: "third",
    listenerArn5: "beyond the gap",
  });
  const findings = await look(account);
  expect(missing(findings)).toEqual([]);
  expect(maximaOf(findings)["deployments"]).toMatch(
    /^297 \(target groups of the load balancer, on each of 3: 100; .*parameter MoreBalancers/,
  );
  account.gone.add("third");
  expect(missing(await look(account))).toEqual([
    expect.objectContaining({ what: expect.stringContaining("listenerArn"), verdict: "missing" }),
  ]);
  const configured = { shared: { moreListenerArns: ["other"] } };
  expect(maximaOf(await look(account, configured))["deployments"]).toMatch(/^198 /);
});

test("names the quotas that it may not read, and assumes the defaults of a new account", async () => {
  const account = whole();
  account.quotas.mayList = false;
  const findings = await look(account);
  const unread = missing(findings);
  expect(unread).toHaveLength(6);
  for (const { what, verdict, words } of unread) {
    expect({ what, verdict }).toEqual({ what: expect.stringMatching(/^quota: /), verdict: "warning" });
    expect(words).toMatch(/^not readable: .*servicequotas:ListServiceQuotas \(AccessDeniedException\)$/);
  }
  expect(refusalToStart(findings)).toBeUndefined();
  expect(maximaOf(findings)["deployments"]).toMatch(/^5 \(.*: 6, assumed; /);
});

test("a quota that is not readable, or that Service Quotas does not list, is a warning", async () => {
  const account = whole();
  account.quotas.applied.set("elasticloadbalancing", [
    { QuotaCode: "L-822D1B1B", ErrorReason: { ErrorCode: "DEPENDENCY_ACCESS_DENIED_ERROR", ErrorMessage: "denied" } },
  ]);
  account.quotas.defaults.delete("lambda");
  expect(missing(await look(account)).map(({ what, words }) => [what, words])).toEqual([
    ["quota: target groups of the load balancer", "not readable: denied"],
    ["quota: concurrent Lambda executions in the region", "not readable: Service Quotas does not list it"],
  ]);
});

test("signs for Service Quotas with the STS client, at the configured endpoint", async () => {
  const { service } = fakeQuotas();
  const credentials = { accessKeyId: "AKIA", secretAccessKey: "secret", sessionToken: "token" };
  const rules = { region: REGION, service: "servicequotas", now: Date.now, credentials: () => [credentials] };
  const server = await serveAws(new Faults(), {
    ...service,
    route: (request) => {
      checkSignature(request, rules);
      return service.route(request);
    },
  });
  onTestFinished(server.close);
  const environment = { AWS_ENDPOINT_URL: "http://nowhere.invalid", AWS_ENDPOINT_URL_SERVICE_QUOTAS: server.endpoint };
  const sts = new STSClient({ region: REGION, credentials });
  const source = { region: REGION, environment, clients: clientSource(REGION, { sts }) };
  expect(await listQuotas("lambda", source)).toEqual([
    { QuotaCode: "L-B99A9384", QuotaName: "Concurrent executions", Value: 1000, Adjustable: true },
  ]);
  const others = clientSource(REGION, {
    sts: new STSClient({ region: REGION, credentials: { ...credentials, accessKeyId: "no" } }),
  });
  await expect(listQuotas("lambda", { ...source, clients: others })).rejects.toMatchObject({
    name: "InvalidAccessKeyId",
  });
});

test("an almost exhausted quota is a warning", async () => {
  const account = whole();
  account.roles = 995;
  expect(missing(await look(account))).toEqual([
    expect.objectContaining({
      verdict: "warning",
      words: "5 of 1000 left; each account uses one, or two if it has set a secret",
    }),
  ]);
});

test("without AWS packages, reports only them, with the install command", async () => {
  const lost = ["@aws-sdk/client-ecs", "@aws-sdk/s3-request-presigner"];
  const { clients } = whole();
  const find = (name: string) => (lost.includes(name) ? undefined : { version: undefined });
  const findings = await Array.fromAsync(
    diagnoseAws(awsSettingsOf(basis), clientSource("eu-west-1", clients), {}, find),
  );
  expect(findings).toEqual([
    expect.objectContaining({ verdict: "missing", fix: `npm install ${lost.map((name) => `${name}@3`).join(" ")}` }),
  ]);
});

test("checks the packages that are optional peer dependencies", () => {
  const { peerDependencies } = JSON.parse(readFileSync("package.json", "utf8")) as { peerDependencies: object };
  const peers = Object.keys(peerDependencies).filter((name) => name.startsWith("@aws-sdk/"));
  // SQL's capability checks for the client-athena package.
  expect([...packages, "@aws-sdk/client-athena"].sort()).toEqual(peers.sort());
});
