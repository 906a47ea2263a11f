/** What clients do with volumes and objects, as commands that know how the model says it ends. */

import type fc from "fast-check";
import { expect } from "vitest";
import type { ControlPlaneError } from "../../core/errors.ts";
import type { Result } from "../../core/result.ts";
import {
  accountOf,
  expectAgreement,
  mountersOf,
  refusalOf,
  type StorageModel,
  type StorageSystem,
} from "./storage-model.ts";
import { inOnePiece } from "./upload-url.ts";

export type StorageCommand = fc.AsyncCommand<StorageModel, StorageSystem>;

/** A command that may always be tried; its words are what a failure is printed with. */
export const command = (
  words: string,
  run: (model: StorageModel, system: StorageSystem) => Promise<void>,
): StorageCommand => ({
  check: () => true,
  run: async (model, system) => {
    await run(model, system);
    await expectAgreement(model, system);
    await system.pass();
  },
  toString: () => words,
});

/** How a call ended: `ok`, or the kind of its error. */
const endOf = (result: Result<unknown, ControlPlaneError>): string => (result.isOk() ? "ok" : result.error.kind);

export const createVolume = (account: string, volume: string): StorageCommand =>
  command(`${account}: create ${volume}`, async (model, { controlPlane, principal }) => {
    const { volumes } = accountOf(model, account);
    const made = (await controlPlane.createVolume(principal(account), { name: volume }))._unsafeUnwrap();
    expect(made).toMatchObject({ name: volume, created: !volumes.has(volume) });
    if (made.created) volumes.set(volume, new Map());
  });

export const deleteVolume = (account: string, volume: string): StorageCommand =>
  command(`${account}: delete ${volume}`, async (model, { controlPlane, principal }) => {
    const { volumes, trash } = accountOf(model, account);
    const mounters = mountersOf(model, account, volume);
    const gone = await controlPlane.deleteVolume(principal(account), { name: volume });
    expect(endOf(gone)).toBe(refusalOf(model, account, volume) ?? (mounters.length > 0 ? "conflict" : "ok"));
    if (gone.isErr()) return mounters.forEach((name) => void expect(gone.error.message).toContain(`'${name}'`));
    trash.unshift({ name: volume, objects: volumes.get(volume) ?? new Map() });
    volumes.delete(volume);
  });

/** @param which of the account's deleted volumes of that name, counted from the newest; undefined: the newest, unnamed */
export const restoreVolume = (account: string, volume: string, which: number | undefined): StorageCommand =>
  command(`${account}: restore ${volume} ${which ?? ""}`, async (model, { controlPlane, principal }) => {
    const { volumes, trash } = accountOf(model, account);
    const shown = (await controlPlane.listTrash(principal(account)))._unsafeUnwrap();
    const ofName = shown.filter(({ name }) => name === volume);
    const id = which === undefined ? {} : { id: ofName[which % Math.max(1, ofName.length)]?.id ?? "no-such-volume" };
    const back = await controlPlane.restoreVolume(principal(account), { name: volume, ...id });
    if (ofName.length === 0) {
      // A live volume of any account is not in the trash.
      const missing = refusalOf(model, account, volume) === "forbidden" ? "forbidden" : "not_found";
      return expect(endOf(back)).toBe(missing);
    }
    expect(endOf(back)).toBe(volumes.has(volume) ? "conflict" : "ok");
    if (back.isErr()) return;
    const at = trash.findIndex((_, index) => shown[index]?.id === (id.id ?? ofName[0]?.id));
    volumes.set(volume, (trash[at] as (typeof trash)[number]).objects);
    trash.splice(at, 1);
  });

export const putObject = (account: string, volume: string, path: string, content: string): StorageCommand =>
  command(`${account}: put ${volume}/${path} ${content}`, async (model, { controlPlane, principal }) => {
    const granted = await controlPlane.grantUpload(principal(account), { volume, object: path });
    expect(endOf(granted)).toBe(refusalOf(model, account, volume) ?? "ok");
    if (granted.isErr()) return;
    const { url, method } = inOnePiece(granted.value);
    expect((await fetch(url, { method, body: content })).ok).toBe(true);
    accountOf(model, account).volumes.get(volume)?.set(path, content);
  });

export const getObject = (account: string, volume: string, path: string): StorageCommand =>
  command(`${account}: get ${volume}/${path}`, async (model, { controlPlane, principal }) => {
    const content = accountOf(model, account).volumes.get(volume)?.get(path);
    const granted = await controlPlane.grantDownload(principal(account), { volume, path });
    const missing = content === undefined ? "not_found" : "ok";
    expect(endOf(granted)).toBe(refusalOf(model, account, volume) ?? missing);
    if (granted.isOk()) expect(await (await fetch(granted.value.url)).text()).toBe(content);
  });

export const deleteObject = (account: string, volume: string, path: string): StorageCommand =>
  command(`${account}: rm ${volume}/${path}`, async (model, { controlPlane, principal }) => {
    const objects = accountOf(model, account).volumes.get(volume);
    const gone = await controlPlane.deleteObject(principal(account), { volume, path });
    const missing = objects?.has(path) === true ? "ok" : "not_found";
    expect(endOf(gone)).toBe(refusalOf(model, account, volume) ?? missing);
    if (gone.isOk()) objects?.delete(path);
  });
