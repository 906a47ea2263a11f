/** The contract suite of `VolumeStore` for volumes: creating, finding, hiding, deleting, restoring. */
import { expect } from "vitest";
import type { AccountId } from "../../core/domain/accounts/account.ts";
import { plusMillis, timestampOf } from "../../core/domain/wire/instant.ts";
import type { VolumeName } from "../../core/domain/wire/names.ts";
import type { StoredVolume } from "../../core/ports/volume-store.ts";
import type { ContractCase, ProviderSubject } from "./harness.ts";
import { expectError, expectOk } from "./support.ts";
import { newVolume, now, put, textOf, volumesOf } from "./volume-steps.ts";

type Case = ContractCase<ProviderSubject>;

const inGroup = (group: string, cases: readonly Omit<Case, "group">[]): Case[] =>
  cases.map((one) => ({ group, when: ({ volumes }) => volumes.store.supported, ...one }));

const data = "data" as VolumeName;

/** A name that no account uses. */
const freshName = (subject: ProviderSubject): VolumeName => `v-${subject.name()}`.slice(0, 40) as VolumeName;

const stateOf = async (subject: ProviderSubject, owner: AccountId, name = data) =>
  (await expectOk(volumesOf(subject).find(owner, name))).kind;

const discarded = async (subject: ProviderSubject, volume: StoredVolume, at = timestampOf(now())): Promise<void> => {
  await expectOk(volumesOf(subject).beginDelete(volume));
  await expectOk(volumesOf(subject).moveToTrash(volume, at));
};

const making = inGroup("volumes", [
  {
    name: "an unused name is free",
    run: async (subject) => expect(await stateOf(subject, subject.account(), freshName(subject))).toBe("free"),
  },
  {
    name: "a volume is created once, and find returns it",
    run: async (subject) => {
      const owner = subject.account();
      const first = await expectOk(volumesOf(subject).create(owner, data));
      expect(first).toMatchObject({ created: true, volume: { owner, name: data } });
      expect(first.volume.id).toMatch(/^[a-z0-9-]{1,63}$/);
      expect(await expectOk(volumesOf(subject).create(owner, data))).toEqual({ created: false, volume: first.volume });
      expect(await expectOk(volumesOf(subject).find(owner, data))).toEqual({ kind: "held", volume: first.volume });
    },
  },
  {
    name: "one of several concurrent calls creates a volume, and all return it",
    run: async (subject) => {
      const owner = subject.account();
      const calls = Array.from({ length: 5 }, () => expectOk(volumesOf(subject).create(owner, data)));
      const made = await Promise.all(calls);
      expect(made.filter(({ created }) => created)).toHaveLength(1);
      expect(new Set(made.map(({ volume }) => volume.id)).size).toBe(1);
      expect(await expectOk(volumesOf(subject).list(owner))).toHaveLength(1);
    },
  },
  {
    name: "names belong to an account; for another account, find returns other_account",
    run: async (subject) => {
      const [owner, other] = [subject.account(), subject.account()];
      const name = freshName(subject);
      const mine = await newVolume(subject, owner, name);
      expect(await stateOf(subject, other, name)).toBe("other_account");
      const theirs = await newVolume(subject, other, name);
      expect(theirs.id).not.toBe(mine.id);
      await put(subject, mine, "a", "mine");
      expect((await expectOk(volumesOf(subject).objects(theirs, { prefix: "", limit: 10 }))).objects).toEqual([]);
    },
  },
  {
    name: "list returns the account's volumes by name, and no others",
    run: async (subject) => {
      const [owner, other] = [subject.account(), subject.account()];
      for (const name of ["b", "a", "c"] as VolumeName[]) await newVolume(subject, owner, name);
      await newVolume(subject, other, "d" as VolumeName);
      expect((await expectOk(volumesOf(subject).list(owner))).map(({ name }) => name)).toEqual(["a", "b", "c"]);
      expect(await expectOk(volumesOf(subject).list(subject.account()))).toEqual([]);
    },
  },
]);

const hiding = inGroup("hide and show", [
  {
    name: "a hidden volume is not listed, its name is taken, and its objects stay",
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account(), data);
      await put(subject, volume, "kept", "bytes");
      await expectOk(volumesOf(subject).beginDelete(volume));
      expect(await stateOf(subject, volume.owner)).toBe("hidden");
      expect(await expectOk(volumesOf(subject).list(volume.owner))).toEqual([]);
      expect((await expectError(volumesOf(subject).create(volume.owner, data))).kind).toBe("conflict");
      expect((await expectError(volumesOf(subject).beginDelete(volume))).kind).toBe("conflict");
      await expectOk(volumesOf(subject).abortDelete(volume));
      expect(await expectOk(volumesOf(subject).find(volume.owner, data))).toEqual({ kind: "held", volume });
      expect(await textOf(subject, volume, "kept")).toBe("bytes");
    },
  },
  {
    name: "only a hidden volume can be moved to the trash",
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account(), data);
      const discard = () => volumesOf(subject).moveToTrash(volume, timestampOf(now()));
      expect((await expectError(discard())).kind).toBe("conflict");
      await expectOk(volumesOf(subject).beginDelete(volume));
      await expectOk(volumesOf(subject).abortDelete(volume));
      expect((await expectError(discard())).kind).toBe("conflict");
      expect(await expectOk(volumesOf(subject).find(volume.owner, data))).toEqual({ kind: "held", volume });
    },
  },
  {
    name: "only a live volume can be hidden",
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account(), data);
      await discarded(subject, volume);
      expect((await expectError(volumesOf(subject).beginDelete(volume))).kind).toBe("not_found");
      const again = await newVolume(subject, volume.owner, data);
      expect((await expectError(volumesOf(subject).beginDelete(volume))).kind).toBe("not_found");
      expect(await expectOk(volumesOf(subject).find(volume.owner, data))).toEqual({ kind: "held", volume: again });
    },
  },
]);

const deleting = inGroup("trash and restore", [
  {
    name: "a deleted volume frees its name, and a new volume of that name is empty and has a different id",
    run: async (subject) => {
      const name = freshName(subject);
      const volume = await newVolume(subject, subject.account(), name);
      await put(subject, volume, "old", "old");
      await discarded(subject, volume);
      expect(await stateOf(subject, volume.owner, name)).toBe("free");
      const next = await newVolume(subject, volume.owner, name);
      expect(next.id).not.toBe(volume.id);
      expect((await expectOk(volumesOf(subject).objects(next, { prefix: "", limit: 10 }))).objects).toEqual([]);
    },
  },
  {
    name: "the objects of a deleted volume are not accessible",
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account(), data);
      const { url } = await put(subject, volume, "a", "a");
      await discarded(subject, volume);
      expect((await expectError(volumesOf(subject).objects(volume, { prefix: "", limit: 1 }))).kind).toBe("not_found");
      // The bucket is either closed or deleted.
      expect([403, 404]).toContain((await fetch(url, { method: "PUT", body: "more" })).status);
    },
  },
  {
    name: "the trash lists every deleted volume of the account, and a restore returns its id and objects",
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account(), data);
      await put(subject, volume, "kept", "bytes");
      await discarded(subject, volume);
      const second = await newVolume(subject, volume.owner, data);
      const deletedAt = timestampOf(plusMillis(now(), -3_600_000));
      await discarded(subject, second, deletedAt);
      const trash = await expectOk(volumesOf(subject).trash(volume.owner));
      expect(trash.map(({ id }) => id).sort()).toEqual([volume.id, second.id].sort());
      expect(trash.every(({ name }) => name === data)).toBe(true);
      expect(trash.find(({ id }) => id === second.id)).toMatchObject({ deletedAt });
      expect(await expectOk(volumesOf(subject).restore(volume.owner, volume.id))).toEqual(volume);
      expect(await textOf(subject, volume, "kept")).toBe("bytes");
      expect((await expectOk(volumesOf(subject).trash(volume.owner))).map(({ id }) => id)).toEqual([second.id]);
    },
  },
  {
    name: "a restore fails if the name has a live volume, for another account, and if it is repeated",
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account(), data);
      await discarded(subject, volume);
      const other = subject.account();
      expect(await expectOk(volumesOf(subject).trash(other))).toEqual([]);
      expect((await expectError(volumesOf(subject).restore(other, volume.id))).kind).toBe("not_found");
      const next = await newVolume(subject, volume.owner, data);
      expect((await expectError(volumesOf(subject).restore(volume.owner, volume.id))).kind).toBe("conflict");
      await discarded(subject, next);
      await expectOk(volumesOf(subject).restore(volume.owner, volume.id));
      expect((await expectError(volumesOf(subject).restore(volume.owner, volume.id))).kind).toBe("not_found");
    },
  },
]);

/** The contract suite of `VolumeStore` for volumes. */
export const volumeStoreCases: readonly Case[] = [...making, ...hiding, ...deleting];
