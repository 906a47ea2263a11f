/** Custom domains on AWS: certificates, listeners and rules from `add` to `remove`. */
import { RequestCertificateCommand } from "@aws-sdk/client-acm";
import { ListObjectsV2Command } from "@aws-sdk/client-s3";
import { afterEach, expect, test, vi } from "vitest";
import { CERTIFICATE_TAG } from "../../../../adapters/aws/domains/certificates.ts";
import type { DomainName } from "../../../../core/domain/domains/domain-name.ts";
import { requestLimits } from "../../../../core/domain/domains/order-budget.ts";
import { aws } from "../../../clouds/aws.ts";
import { openPlatform } from "../../../clouds/cloud.ts";
import { expectError, expectOk } from "../../../contracts/support.ts";
import type { AdverseBehavior } from "../../../fakes/aws/adverse.ts";
import { balancerHostAt, LISTENER, listenerAt } from "../../../fakes/aws/elbv2/balancer.ts";
import { STATE_BUCKET } from "../../../fakes/aws/test-config.ts";
import { principalOf } from "../../../support/providers/local-platform.ts";
import { eventually } from "../../../support/vitest/eventually.ts";
import { DOMAIN, type DomainPlatformOptions, onceAround, openDomainPlatform, recordInputs } from "./platform.ts";

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

const open = async (options: DomainPlatformOptions = {}) => {
  const platform = await openDomainPlatform(options);
  opened.push(platform);
  return platform;
};

const HOST = "app.apps.portside.test";

test.each([
  ["ALIAS", "example.org", 20],
  ["CNAME", DOMAIN, 250],
])(
  "a domain with an address record of type %s stays active if the load balancer has many addresses",
  async (type, domain, count) => {
    const { fakes, deployed, activate, check } = await open();
    const name = balancerHostAt(0);
    for (let n = 1; n <= count; n++) fakes.dns.add({ name, type: "A", value: `203.0.113.${n}` });
    await deployed();
    const { records } = await activate("app", domain);
    expect(records.find(({ purpose }) => purpose === "address")?.type).toBe(type);
    const statuses = new Set<string>();
    for (let checks = 0; checks < 10; checks++) statuses.add((await check(domain)).status);
    expect([...statuses]).toEqual(["active"]);
    fakes.dns.remove(domain);
    for (const value of ["203.0.113.1", "198.51.100.7"]) fakes.dns.add({ type: "A", name: domain, value });
    expect(await check(domain)).toMatchObject({
      status: "failing",
      detail: expect.stringMatching(/points to '198\.51\.100\.7', but must point only to .+ and \d+ more\./),
    });
  },
);

test("a domain becomes active, its requests reach the service, and its removal leaves nothing", async () => {
  const { fakes, deployed, add, check, remove, list, requested, hostsOf } = await open();
  await deployed();
  const added = await expectOk(add());
  expect(added).toMatchObject({ domain: DOMAIN, name: "app", status: "pending", certificate: null });
  expect(added.records).toEqual([
    { type: "TXT", name: `_portside.${DOMAIN}`, value: expect.any(String), purpose: "ownership" },
    { type: "CNAME", name: DOMAIN, value: balancerHostAt(0), purpose: "address" },
    {
      type: "CNAME",
      name: expect.stringMatching(/^_[0-9a-f]{32}\.app\.example\.com$/),
      value: expect.stringMatching(/\.acm-validations\.aws$/),
      purpose: "certificate",
    },
  ]);
  fakes.dns.add(...added.records);
  expect(await check()).toMatchObject({
    status: "pending",
    detail: expect.stringContaining("AWS Certificate Manager has not validated the domain yet."),
  });
  expect(await requested()).toBe(404);

  fakes.acm.issue(DOMAIN);
  const active = await check();
  expect(active).toMatchObject({ status: "active", detail: `Requests to '${DOMAIN}' reach 'app'.` });
  expect(active.certificate).not.toBeNull();
  expect(await list()).toEqual([active]);
  expect(await requested()).toBe(200);
  expect(await requested(HOST)).toBe(200);
  expect(fakes.balancer.certificatesOf(LISTENER)).toEqual([fakes.acm.latest(DOMAIN).arn]);

  await expectOk(remove());
  expect(await requested()).toBe(404);
  expect(hostsOf(HOST)).toEqual([HOST]);
  expect(await list()).toEqual([]);
  await eventually(() => expect(fakes.acm.certificates.size).toBe(0));
  expect(fakes.balancer.certificatesOf(LISTENER)).toEqual([]);
});

test("a redeploy keeps the domain, and its requests move to the new revision", async () => {
  const { fakes, deployed, activate, requested } = await open();
  await deployed();
  await activate();
  const before = fakes.balancer.groupFor(DOMAIN);
  await deployed();
  const after = fakes.balancer.groupFor(DOMAIN);
  expect(after).not.toBe(before);
  expect(after).toBe(fakes.balancer.groupFor(HOST));
  expect(await requested()).toBe(200);
});

test("a removed domain that is added again keeps its certificate", async () => {
  const { fakes, deployed, activate, remove, add, check, requested } = await open({ times: 10 });
  await deployed();
  await activate();
  const { arn } = fakes.acm.latest(DOMAIN);
  await expectOk(remove());
  expect((await expectOk(add())).status).toBe("pending");
  expect(await requested()).toBe(404);
  expect((await check()).status).toBe("active");
  expect(await requested()).toBe(200);
  expect([...fakes.acm.certificates.keys()]).toEqual([arn]);
});

test("the deletion of a deployment removes its domains with their certificates", async () => {
  const { fakes, deployed, activate, removeDeployment, list } = await open();
  await deployed();
  await activate();
  expect((await removeDeployment("app")).isOk()).toBe(true);
  expect(await list()).toEqual([]);
  expect(fakes.balancer.rules()).toEqual([]);
  await eventually(() => expect(fakes.acm.certificates.size).toBe(0));
});

test("a certificate that appears late, and counts as used after its removal, causes no failure", async () => {
  const adverse = new Set<AdverseBehavior>(["certificate_late", "certificate_in_use"]);
  const { fakes, deployed, add, activate, remove } = await open({ adverse });
  await deployed();
  expect((await expectOk(add())).records.map(({ purpose }) => purpose)).toContain("certificate");
  expect((await activate()).status).toBe("active");
  await expectOk(remove());
  await eventually(() => expect(fakes.acm.certificates.size).toBe(0));
});

test("a refused certificate shows the reason, and is replaced after a pause", async () => {
  const { fakes, clock, deployed, add, check } = await open({ times: 10 });
  await deployed();
  const { records } = await expectOk(add());
  fakes.dns.add(...records);
  const refused = fakes.acm.latest(DOMAIN).arn;
  fakes.acm.fail(DOMAIN, "CAA_ERROR");
  const failed = await check();
  expect(failed.status).toBe("pending");
  expect(failed.detail).toContain(`Add the record CAA '0 issue "amazon.com"'.`);
  expect(await check()).toMatchObject({ status: "pending", detail: failed.detail });
  expect(fakes.acm.latest(DOMAIN).arn).toBe(refused);
  await clock.sleep(61_000);
  await check();
  expect(fakes.acm.latest(DOMAIN).arn).not.toBe(refused);
  fakes.acm.issue(DOMAIN);
  expect((await check()).status).toBe("active");
  await clock.sleep(121_000);
  await eventually(() => expect(fakes.acm.certificates.has(refused)).toBe(false));
});

test("a domain whose certificate cannot be renewed is failing, and its requests still reach the service", async () => {
  const { fakes, deployed, activate, check, requested } = await open();
  await deployed();
  await activate();
  fakes.acm.latest(DOMAIN).renewal = { RenewalStatus: "PENDING_VALIDATION" };
  expect(await check()).toMatchObject({
    status: "failing",
    detail: expect.stringMatching(/cannot renew the certificate. Create the record CNAME/),
  });
  expect(await requested()).toBe(200);
});

test("a deployment can have four domains, because a rule can have five hosts", async () => {
  const { deployed, activate, add, hostsOf } = await open();
  await deployed();
  const domains = ["a", "b", "c", "d"].map((label) => `${label}.example.com`);
  for (const domain of domains) expect((await activate("app", domain)).status).toBe("active");
  expect([...hostsOf(HOST)].sort()).toEqual([...domains, HOST].sort());
  const refused = await expectError(add("app", "e.example.com"));
  expect(JSON.stringify(refused)).toContain("may have at most 4 domains");
  const long = await expectError(add("app", `${"x".repeat(60)}.example.com`));
  expect(JSON.stringify(long)).toContain("must have at most 64 characters");
});

test("concurrent checks of two domains leave both in the rule", async () => {
  const { fakes, deployed, add, check, hostsOf } = await open();
  await deployed();
  const domains = ["a.example.com", "b.example.com"];
  for (const domain of domains) {
    fakes.dns.add(...(await expectOk(add("app", domain))).records);
    fakes.acm.issue(domain);
  }
  await Promise.all(domains.map((domain) => check(domain)));
  expect([...hostsOf(HOST)].sort()).toEqual([...domains, HOST].sort());
});

test("a list reads the object of each domain once", async () => {
  const { clients, deployed, activate, add, list } = await open();
  await deployed();
  const active = await activate();
  await expectOk(add("app", "b.example.com"));
  const reads = recordInputs<{ readonly Key: string }>(clients.s3, "GetObjectCommand");
  expect(await list()).toEqual([active, expect.objectContaining({ domain: "b.example.com" })]);
  const read = reads
    .map(({ Key }) => Key)
    .filter((key) => key.startsWith("domains/"))
    .sort();
  expect(read).toEqual([`domains/${DOMAIN}.json`, "domains/b.example.com.json"]);
});

test("a check that overtakes another one loses no domain", async () => {
  const { fakes, clients, deployed, add, check, hostsOf } = await open();
  await deployed();
  for (const domain of ["a.example.com", "b.example.com"]) {
    fakes.dns.add(...(await expectOk(add("app", domain))).records);
    fakes.acm.issue(domain);
  }
  onceAround(clients.balancer, "ModifyRuleCommand", { before: async () => void (await check("b.example.com")) });
  await check("a.example.com");
  expect([...hostsOf(HOST)].sort()).toEqual(["a.example.com", "b.example.com", HOST].sort());
});

test("a domain that is served during a redeploy stays in the rule", async () => {
  const { fakes, clients, deployed, add, check, requested } = await open();
  await deployed();
  fakes.dns.add(...(await expectOk(add())).records);
  fakes.acm.issue(DOMAIN);
  onceAround(clients.balancer, "ModifyRuleCommand", { before: async () => void (await check()) });
  await deployed();
  expect(fakes.balancer.groupFor(DOMAIN)).toBe(fakes.balancer.groupFor(HOST));
  expect(await requested()).toBe(200);
});

test("a check removes the domain from the rule of its former deployment, if the move failed to do so", async () => {
  const { fakes, deployed, activate, add, check, hostsOf } = await open({ times: 1 });
  await deployed();
  await activate();
  await deployed("other");
  fakes.faults.balancer.inject({ method: "ModifyRule", nth: 2, kind: "permission_denied" });
  expect((await add("other")).isErr()).toBe(true);
  expect(hostsOf(HOST)).toEqual([HOST, DOMAIN]);
  expect((await check()).status).toBe("active");
  expect(hostsOf(HOST)).toEqual([HOST]);
  expect(hostsOf("other.apps.portside.test")).toEqual(["other.apps.portside.test", DOMAIN]);
});

test("a failed removal is completed in the background", async () => {
  const { fakes, deployed, activate, remove, hostsOf } = await open();
  await deployed();
  await activate();
  fakes.faults.balancer.inject({ method: "ModifyRule", nth: 1, kind: "permission_denied" });
  expect((await remove()).isErr()).toBe(true);
  await eventually(() => expect(hostsOf(HOST)).toEqual([HOST]));
  await eventually(() => expect(fakes.acm.certificates.size).toBe(0));
});

test("a certificate is deleted if the domain was removed during the request for it", async () => {
  const { fakes, clients, deployed, add, remove } = await open();
  await deployed();
  onceAround(clients.certificates, "RequestCertificateCommand", { after: async () => void (await expectOk(remove())) });
  await expectOk(add());
  expect(fakes.acm.certificates.size).toBe(1);
  await eventually(() => expect(fakes.acm.certificates.size).toBe(0));
});

test("a check finds the certificate of a request whose outcome was lost", async () => {
  const { fakes, clients, deployed, add, check } = await open();
  await deployed();
  const kill = async () => {
    throw new Error("killed");
  };
  onceAround(clients.certificates, "RequestCertificateCommand", { after: kill });
  await add().then(
    (result) => expect(result.isErr()).toBe(true),
    () => undefined,
  );
  const { arn } = fakes.acm.latest(DOMAIN);
  expect((await check()).records.map(({ purpose }) => purpose)).toContain("certificate");
  expect([...fakes.acm.certificates.keys()]).toEqual([arn]);
});

test("a check finds the certificate of a request whose outcome was lost hours ago", async () => {
  const { fakes, clients, deployed, add, check, skip } = await open();
  await deployed();
  const ofOther = { DomainName: DOMAIN, ValidationMethod: "DNS", IdempotencyToken: "other" } as const;
  await clients.certificates.send(new RequestCertificateCommand({ ...ofOther, Tags: [CERTIFICATE_TAG] }));
  const kill = async () => {
    throw new Error("killed");
  };
  onceAround(clients.certificates, "RequestCertificateCommand", { after: kill });
  await add().then(
    (result) => expect(result.isErr()).toBe(true),
    () => undefined,
  );
  const { arn } = fakes.acm.latest(DOMAIN);
  fakes.acm.settings.maxListed = 1;
  skip(2 * 3_600_000);
  fakes.dns.add(...(await check()).records);
  expect(fakes.acm.certificates.size).toBe(2);
  fakes.acm.issue(DOMAIN);
  expect((await check()).status).toBe("active");
  expect(fakes.balancer.certificatesOf(LISTENER)).toEqual([arn]);
});

test("a domain that is removed again at the end of its deletion leaves nothing", async () => {
  const { fakes, clients, deployed, activate, add, remove } = await open();
  let again = 0;
  await deployed();
  await activate();
  // The work for the first removal has found nothing left to do, but has not ended yet.
  onceAround(clients.s3, "DeleteObjectCommand", {
    before: async () => {
      await expectOk(add());
      await expectOk(remove());
      again = fakes.acm.certificates.size;
    },
  });
  await expectOk(remove());
  await eventually(() => expect(again).toBe(1));
  await eventually(() => expect(fakes.acm.certificates.size).toBe(0));
});

test("a domain that is removed during the end of an earlier deletion stays marked for the next start", async () => {
  const { fakes, clients, deployed, activate, add, remove } = await open();
  let isUnmarked = false;
  await deployed();
  await activate();
  onceAround(clients.s3, "DeleteObjectCommand", {
    before: async () => {
      await expectOk(add());
      await expectOk(remove());
    },
    after: async () => {
      isUnmarked = true;
    },
  });
  await expectOk(remove());
  await eventually(() => expect(isUnmarked).toBe(true));
  const marks = { Bucket: STATE_BUCKET, Prefix: "domain-leftovers/" };
  await eventually(async () => {
    const { Contents = [] } = await clients.s3.send(new ListObjectsV2Command(marks));
    expect(Contents.map(({ Key }) => Key)).toEqual([`domain-leftovers/${DOMAIN}`]);
  });
  expect(fakes.acm.certificates.size).toBe(1);
  await eventually(() => expect(fakes.acm.certificates.size).toBe(0));
});

test("a domain moves to a deployment on another load balancer", async () => {
  const { fakes, deployed, activate, add, hostsOf } = await open({ balancers: 2 });
  await deployed();
  await activate();
  fakes.balancer.occupy(0, 50);
  await deployed("other");
  const moved = await expectOk(add("other"));
  expect(moved.records).toContainEqual(expect.objectContaining({ type: "CNAME", value: balancerHostAt(1) }));
  expect(hostsOf("other.2.apps.portside.test")).toEqual(["other.2.apps.portside.test", DOMAIN]);
  expect(hostsOf(HOST)).toEqual([HOST]);
  expect(fakes.balancer.certificatesOf(LISTENER)).toEqual([]);
  expect(fakes.balancer.certificatesOf(listenerAt(1))).toEqual([fakes.acm.latest(DOMAIN).arn]);
});

test("requests do not reach the earlier owner after another account has taken the domain over", async () => {
  const { fakes, controlPlane, ports, deployed, activate, requested, list } = await open();
  await deployed();
  await activate();
  const other = principalOf("other");
  const { domains } = ports.provider;
  if (domains === undefined) throw new Error("no domains");
  const stored = await expectOk(domains.store.find(DOMAIN as DomainName));
  if (stored === null) throw new Error("no domain");
  await expectOk(domains.store.write({ ...stored, owner: other.account, status: "pending" }, stored));
  expect(await requested()).toBe(404);
  expect(await list()).toEqual([]);
  expect(await expectOk(controlPlane.listDomains(other))).toHaveLength(1);
  expect(fakes.acm.certificates.size).toBe(1);
});

test("an exhausted quota of certificates keeps the domain pending, with the next step for the operator", async () => {
  const { deployed, activate, requested } = await open({ maxCertificates: 1 });
  await deployed();
  await activate("app", "first.example.com");
  expect(await activate()).toMatchObject({
    status: "pending",
    detail: expect.stringContaining("The load balancer's quota of certificates is exhausted."),
  });
  expect(await requested("first.example.com")).toBe(200);
});

test("an account that adds and removes domains cannot use up the certificates of the others", async () => {
  const { fakes, clients, skip, deployed, add, check, remove, countRequests } = await open();
  await deployed();
  await deployed("theirs", "other");
  const requests = recordInputs<{ readonly DomainName: string }>(clients.certificates, "RequestCertificateCommand");
  const last = () => requests.at(-1)?.DomainName;
  await countRequests(requestLimits.requests - 1);
  await expectOk(add("app", "first.example.com"));
  expect(last()).toBe("first.example.com");
  await expectOk(remove("first.example.com"));
  const { records } = await expectOk(add());
  expect(records.map(({ purpose }) => purpose)).toEqual(["ownership", "address"]);
  fakes.dns.add(...records);
  const limited = "has requested the maximum number of certificates, 60 in 30 days. Check the domain again after 20";
  expect(await check()).toMatchObject({ status: "pending", detail: expect.stringContaining(limited) });
  expect(requests).toHaveLength(1);

  await expectOk(add("theirs", "app.example.org", "other"));
  expect(last()).toBe("app.example.org");

  skip(requestLimits.days * 86_400_000);
  await check();
  expect(last()).toBe(DOMAIN);
});

test("without an HTTPS listener, custom domains are unsupported, and the message states the parameter to set", async () => {
  const platform = await openPlatform(aws, "simulated");
  opened.push(platform);
  const refused = await expectError(platform.controlPlane.listDomains(principalOf("acme")));
  expect(refused.kind).toBe("unsupported");
  expect(refused.message).toContain("CertificateArn");
});

test("the checks of one account do not use up the lookups of the load balancer for the others", async () => {
  const { fakes, deployed, add, check } = await open();
  const lookups = vi.spyOn(fakes.dns.resolver, "resolve");
  await deployed();
  await expectOk(add());
  const checks = 5;
  await Promise.all(Array.from({ length: checks }, () => check()));
  const ofHost = lookups.mock.calls.filter(([name, type]) => name === balancerHostAt(0) && type === "A");
  expect(ofHost.length).toBeGreaterThan(0);
  expect(ofHost.length).toBeLessThan(checks);
});
