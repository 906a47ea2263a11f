/** The contract suite of `ServicePlatform.instances`. */
import { expect } from "vitest";
import type { InstanceStatus } from "../../core/domain/deploy/instance-status.ts";
import type { Service } from "../../core/domain/deploy/service-template.ts";
import { parseInstant } from "../../core/domain/wire/instant.ts";
import type { ContractCase, ProviderSubject } from "./harness.ts";
import { deployed, expectOk, running, serviceOf } from "./support.ts";

type Case = ContractCase<ProviderSubject>;

const instancesOf = async (
  { provider }: ProviderSubject,
  service: Pick<Service, "name" | "owner">,
): Promise<readonly InstanceStatus[]> => {
  if (provider.services.instances === undefined)
    throw new Error("the provider declares instance_list without the method");
  return expectOk(provider.services.instances(service));
};

const ready = (instances: readonly InstanceStatus[]) => instances.filter(({ state }) => state === "ready");

const listed: NonNullable<Case["when"]> = ({ instance_list }) => instance_list.supported;
const runs: NonNullable<Case["when"]> = (capabilities) => listed(capabilities) && capabilities.runs.supported;

/** The cases of instances. They run only on providers with the capability. */
export const instanceCases: readonly Case[] = [
  {
    group: "instances",
    name: "another account and an unknown name have no instances",
    when: listed,
    run: async (subject) => {
      const { name, owner } = await running(subject);
      expect(await instancesOf(subject, { name, owner: subject.account() })).toEqual([]);
      expect(await instancesOf(subject, { name: subject.name(), owner })).toEqual([]);
    },
  },
  {
    group: "instances",
    name: "a removed service has no instances",
    when: listed,
    run: async (subject) => {
      const { name, owner, service } = await running(subject);
      await expectOk(subject.provider.services.remove(name, { etag: service.etag, owner }));
      expect(await instancesOf(subject, { name, owner })).toEqual([]);
    },
  },
  {
    group: "running instances",
    name: "after a rollout, an instance of its revision is ready",
    when: runs,
    run: async (subject) => {
      const { name, owner, template, ready: first } = await running(subject);
      const [instance, ...others] = await instancesOf(subject, { name, owner });
      expect(others).toEqual([]);
      expect(instance).toMatchObject({ revision: first.revision, state: "ready" });
      expect(instance?.id).not.toBe("");
      expect(parseInstant(instance?.startedAt ?? "")).toBeDefined();
      const { etag } = await serviceOf(subject, name);
      const second = await deployed(subject, { ...template, timeout: 31 }, { etag, owner });
      const now = ready(await instancesOf(subject, { name, owner }));
      expect(now.map(({ revision }) => revision)).toEqual([second.revision]);
      expect(now[0]?.id).not.toBe(instance?.id);
    },
  },
];
