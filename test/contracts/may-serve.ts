/**
 * The contract suite of `ServicePlatform` for `mayServe`. A caller that deletes a volume first hides the volume, and
 * then reads the templates. A rollout first makes its template readable, and then checks its volumes. Therefore, at
 * least one of the two detects the other.
 */
import { expect } from "vitest";
import type { DeployFailure } from "../../core/domain/deploy/reason.ts";
import type { Service } from "../../core/domain/deploy/service-template.ts";
import type { ContractCase, ProviderSubject } from "./harness.ts";
import { build, collect, expectOk, rollOut, running, serviceOf, stateOf, templateFor } from "./support.ts";

type Case = ContractCase<ProviderSubject>;

const refusal: DeployFailure = { reason: "volume_unavailable", message: "The volume was deleted." };

const listed = async ({ provider }: ProviderSubject, { name, owner }: Service): Promise<Service | undefined> =>
  (await expectOk(provider.services.list(owner))).find((one) => one.name === name);

export const mayServeCases: readonly Case[] = [
  {
    group: "may serve",
    name: "is called once, after every reader sees the template and before traffic moves",
    run: async (subject) => {
      const { name, template, service, ready } = await running(subject);
      const next = { ...template, timeout: 31 };
      const seen: (Service | undefined)[] = [];
      const mayServe = async () => {
        seen.push(await serviceOf(subject, name), await listed(subject, service));
        return undefined;
      };
      const expected = { etag: service.etag, owner: service.owner };
      const events = await collect(rollOut(subject, next, expected, { mayServe }));
      expect(events.at(-1)?.kind).toBe("ready");
      expect(seen).toHaveLength(2);
      for (const one of seen)
        expect(one).toMatchObject({ rollingOut: next, serving: [{ id: ready.revision, template }] });
    },
  },
  {
    group: "may serve",
    name: "is also called for a first deploy, while nothing serves",
    run: async (subject) => {
      const [owner, name] = [subject.account(), subject.name()];
      const image = await build(subject, owner, name, subject.sources.hello("first"));
      const template = templateFor(owner, name, image);
      let seen: Service | undefined;
      const mayServe = async () => {
        seen = await serviceOf(subject, name);
        return undefined;
      };
      const events = await collect(rollOut(subject, template, "absent", { mayServe }));
      expect(events.at(-1)?.kind).toBe("ready");
      expect(seen).toMatchObject({ rollingOut: template, serving: [] });
    },
  },
  {
    group: "may not serve",
    name: "ends the rollout with that failure; the previous revision keeps serving",
    run: async (subject) => {
      const { name, template, service } = await running(subject);
      const expected = { etag: service.etag, owner: service.owner };
      const next = { ...template, timeout: 31 };
      const events = await collect(rollOut(subject, next, expected, { mayServe: async () => refusal }));
      expect(events.at(-1)).toMatchObject({ kind: "failed", failure: refusal });
      const after = await serviceOf(subject, name);
      expect(after).toMatchObject({ rollingOut: null, serving: service.serving, url: service.url });
      expect(await listed(subject, service)).toEqual(after);
    },
  },
  {
    group: "may not serve",
    name: "leaves a first deploy without a serving revision, and the next deploy may serve",
    run: async (subject) => {
      const [owner, name] = [subject.account(), subject.name()];
      const image = await build(subject, owner, name, subject.sources.hello("first"));
      const template = templateFor(owner, name, image);
      const refused = await collect(rollOut(subject, template, "absent", { mayServe: async () => refusal }));
      expect(refused.at(-1)).toMatchObject({ kind: "failed", failure: refusal });
      const after = await serviceOf(subject, name);
      expect(after).toMatchObject({ rollingOut: null, serving: [], attempted: template });
      const again = await collect(rollOut(subject, template, { etag: after.etag, owner }));
      expect(again.at(-1)?.kind).toBe("ready");
      expect((await stateOf(subject, name)).kind).toBe("held");
    },
  },
];
