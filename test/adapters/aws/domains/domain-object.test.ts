/** The rules of a domain's object. */
import { expect, test } from "vitest";
import {
  afterRemoval,
  afterWrite,
  type Certificate,
  claimed,
  type DomainObject,
  GRACE_MS,
  leavesRule,
} from "../../../../adapters/aws/domains/domain-object.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { CustomDomain } from "../../../../core/domain/domains/domain.ts";
import type { DomainName } from "../../../../core/domain/domains/domain-name.ts";
import { instantOfMillis, type Timestamp } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";

const REMOVED_MS = 1_800_000_000_000;
const own: CustomDomain = {
  domain: "app.example.com" as DomainName,
  owner: "acme" as AccountId,
  name: "app" as DeploymentName,
  status: "active",
  detail: "",
  createdAt: "2027-01-01T00:00:00+00:00" as Timestamp,
  checkedAt: null,
};
const certificate: Certificate = {
  arn: "arn",
  requestedAt: 0,
  state: "issued",
  record: null,
  notAfter: null,
  problem: null,
  listeners: ["listener"],
  isServed: true,
};
const present: DomainObject = { ...afterWrite(null, own, "1"), certificate };
const app = { owner: own.owner, name: own.name };

test("a removed domain keeps its certificate for the grace period", () => {
  const removed = afterRemoval(present, "2", instantOfMillis(REMOVED_MS));
  expect(claimed(removed, instantOfMillis(REMOVED_MS + GRACE_MS - 1))).toBe(removed);
  expect(claimed(removed, instantOfMillis(REMOVED_MS + GRACE_MS))).toMatchObject({
    certificate: null,
    leftovers: [{ arn: "arn", listeners: ["listener"] }],
  });
  expect(claimed(present, instantOfMillis(REMOVED_MS + GRACE_MS))).toBe(present);
});

test("an object remembers the deployment whose rule it leaves", () => {
  const moved = { ...own, name: "other" as DeploymentName };
  expect(afterWrite(present, own, "2").formerRoutes).toEqual([]);
  expect(afterWrite(present, moved, "2").formerRoutes).toEqual([app]);
  expect(afterRemoval(present, "2", instantOfMillis(0)).formerRoutes).toEqual([app]);
  expect(leavesRule(present, { ...own, owner: "x" as AccountId })).toBe(true);
  expect(leavesRule(present, { ...own, status: "pending" })).toBe(true);
  expect(leavesRule({ ...present, domain: { ...own, status: "pending" } }, moved)).toBe(false);
});
