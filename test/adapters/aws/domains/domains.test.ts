/** Own domains on AWS: certificates, listeners and rules from `add` to `remove`. */
import { afterEach, expect, test } from "vitest";
import { expectError, expectOk } from "../../../contracts/support.ts";
import { balancerHostAt, LISTENER, listenerAt } from "../../../fakes/aws/elbv2/balancer.ts";
import type { MeanSwitch } from "../../../fakes/aws/mean.ts";
import { principalOf } from "../../../support/providers/local-platform.ts";
import { eventually } from "../../../support/vitest/eventually.ts";
import { DOMAIN, type DomainPlatformOptions, openDomainPlatform } from "./platform.ts";

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
