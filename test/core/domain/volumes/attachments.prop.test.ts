/** Attachments derived from the templates of any set of services. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { Service, ServiceTemplate } from "../../../../core/domain/deploy/service-template.ts";
import { attachmentsOf, deletionProblem } from "../../../../core/domain/volumes/attachments.ts";
import type { DeploymentName, VolumeName } from "../../../../core/domain/wire/names.ts";
import { deploymentName, volumeName } from "../../../arbitraries/index.ts";
import { templateFor } from "../../../contracts/support.ts";
import { serviceOf } from "../../../support/logs/services.ts";
import { runs } from "../../../support/vitest/runs.ts";

const pool = ["data", "logs", "constructor", "models"] as VolumeName[];

/** A template with these mounts; a volume may be at several paths. */
const templateWith = (name: DeploymentName, volumes: readonly VolumeName[]): ServiceTemplate => ({
  ...templateFor("acme" as AccountId, name, "image"),
  mounts: volumes.map((volume, at) => ({ path: `/m${at}`, volume, readOnly: false, bucket: `vol-${volume}` })),
});

const mounted = fc.array(fc.constantFrom(...pool), { maxLength: 4 });

const service = fc.tuple(deploymentName(), fc.array(mounted, { maxLength: 2 }), fc.option(mounted), mounted).map(
  ([name, serving, rollingOut, attempted]): Service => ({
    ...serviceOf(templateWith(name, attempted)),
    serving: serving.map((volumes, index) => ({ id: `r${index}`, template: templateWith(name, volumes) })),
    rollingOut: rollingOut === null ? null : templateWith(name, rollingOut),
  }),
);

const services = fc.uniqueArray(service, { maxLength: 5, selector: ({ name }) => name });

const mounts = (one: ServiceTemplate, volume: string): boolean => one.mounts.some((mount) => mount.volume === volume);

test("a volume is attached to exactly the services whose serving or pending template mounts it", () => {
  fc.assert(
    fc.property(services, (all) => {
      const attached = attachmentsOf(all);
      for (const volume of [...pool, "none"])
        expect(attached.get(volume) ?? []).toEqual(
          all
            .filter(
              ({ serving, rollingOut }) =>
                serving.some((revision) => mounts(revision.template, volume)) ||
                (rollingOut !== null && mounts(rollingOut, volume)),
            )
            .map(({ name }) => name),
        );
      expect([...attached.values()].every((names) => names.length > 0)).toBe(true);
    }),
    runs(300),
  );
});

test("attachments of two lists combine to those of the whole", () => {
  fc.assert(
    fc.property(services, fc.nat({ max: 5 }), (all, cut) => {
      const [before, behind] = [attachmentsOf(all.slice(0, cut)), attachmentsOf(all.slice(cut))];
      for (const [volume, names] of attachmentsOf(all))
        expect(names).toEqual([...(before.get(volume) ?? []), ...(behind.get(volume) ?? [])]);
    }),
    runs(200),
  );
});

test("a volume may be deleted if and only if no deployment mounts it; otherwise the message names them all", () => {
  fc.assert(
    fc.property(volumeName(), fc.uniqueArray(deploymentName(), { maxLength: 5 }), (volume, mounters) => {
      const problem = deletionProblem(volume, mounters);
      expect(problem === undefined).toBe(mounters.length === 0);
      for (const name of [volume, ...(mounters.length === 0 ? [] : mounters)])
        if (problem !== undefined) expect(problem).toContain(`'${name}'`);
    }),
    runs(200),
  );
});
