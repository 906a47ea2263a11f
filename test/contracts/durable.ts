/** The contract suite of durable storage: data survives when a provider is closed and opened again. */
import { expect } from "vitest";
import { comparePositions } from "../../core/domain/logs/cursor.ts";
import type { LogEntry } from "../../core/domain/logs/entry.ts";
import { timestampOf } from "../../core/domain/wire/instant.ts";
import type { SecretName, VolumeName } from "../../core/domain/wire/names.ts";
import type { ContractCase, DurableSubject } from "./harness.ts";
import { append, every, line, numbers, scopeOf, texts } from "./log-steps.ts";
import { expectOk } from "./support.ts";
import { newVolume, now, put, textOf } from "./volume-steps.ts";

type Case = ContractCase<DurableSubject>;

/** The contract suite of a provider whose storage is durable. */
export const durableCases: readonly Case[] = [
  {
    group: "durable logs",
    name: "entries survive a restart, and later entries follow them",
    run: async (subject) => {
      const scope = scopeOf(subject);
      const entriesIn = async ({ provider }: DurableSubject): Promise<readonly LogEntry[]> =>
        (await expectOk(provider.logs.newest(scope, every()))).entries;
      await append(
        subject,
        numbers(20).map((text) => line(scope, text)),
      );
      const before = await entriesIn(subject);
      await subject.reopen();
      expect(await entriesIn(subject)).toEqual(before);
      await append(subject, [line(scope, "later")]);
      const last = before.at(-1) as LogEntry;
      const { entries } = await expectOk(subject.provider.logs.after(scope, last, every()));
      expect(texts(entries)).toEqual(["later"]);
      expect(comparePositions(last, entries[0] as LogEntry)).toBeLessThan(0);
    },
  },
  {
    group: "durable secrets",
    name: "versions, digests and the highest number survive a restart",
    when: ({ secrets }) => secrets.supported,
    run: async (subject) => {
      const owner = subject.account();
      const store = () => {
        if (subject.provider.secrets === undefined) throw new Error("the provider has no store of secrets");
        return subject.provider.secrets;
      };
      const [kept, gone] = ["KEPT" as SecretName, "GONE" as SecretName];
      for (const value of ["one", "two"]) await expectOk(store().set(owner, kept, value));
      const deleted = await expectOk(store().set(owner, gone, "one"));
      await expectOk(store().delete(owner, gone));
      const before = await expectOk(store().list(owner));
      await subject.reopen();
      expect(await expectOk(store().list(owner))).toEqual(before);
      const [newest] = before[0]?.versions ?? [];
      expect(await expectOk(store().set(owner, kept, "two"))).toEqual(newest);
      expect((await expectOk(store().set(owner, gone, "two"))).version).toBeGreaterThan(deleted.version);
    },
  },
  {
    group: "durable redeploys",
    name: "pending redeploys survive a restart",
    when: ({ secrets }) => secrets.supported,
    run: async (subject) => {
      const owner = subject.account();
      const name = "KEY" as SecretName;
      const store = () => {
        if (subject.provider.secrets === undefined) throw new Error("the provider has no store of secrets");
        return subject.provider.secrets;
      };
      const { version } = await expectOk(store().set(owner, name, "one"));
      await expectOk(store().beginRedeploys({ owner, name, version }));
      await subject.reopen();
      const pending = await expectOk(store().pendingRedeploys());
      expect(pending.filter((one) => one.owner === owner)).toEqual([{ owner, name, version }]);
    },
  },
  {
    group: "durable volumes",
    name: "volumes, objects and the trash survive a restart",
    when: ({ volumes }) => volumes.store.supported,
    run: async (subject) => {
      const owner = subject.account();
      const [kept, deleted] = [
        await newVolume(subject, owner, "kept" as VolumeName),
        await newVolume(subject, owner, "deleted" as VolumeName),
      ];
      await put(subject, kept, "a/b", "bytes");
      await expectOk(subject.provider.volumes.beginDelete(deleted));
      await expectOk(subject.provider.volumes.moveToTrash(deleted, timestampOf(now())));
      await subject.reopen();
      const { volumes } = subject.provider;
      expect(await expectOk(volumes.list(owner))).toMatchObject([{ id: kept.id, name: "kept" }]);
      expect((await expectOk(volumes.trash(owner))).map(({ id }) => id)).toEqual([deleted.id]);
      expect(await textOf(subject, kept, "a/b")).toBe("bytes");
      expect(await expectOk(volumes.restore(owner, deleted.id))).toEqual(deleted);
    },
  },
];
