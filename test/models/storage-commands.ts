/** Commands on volumes and objects that check each result against the model. */

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

/** One step of a random test: applies to the model and to the system under test, and compares the two. */
export type StorageCommand = fc.AsyncCommand<StorageModel, StorageSystem>;

/** A command without a precondition. A failed test prints `words`. After each run, model and system must agree. */
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

/** The result of a call: `ok`, or the kind of the error. */
const endOf = (result: Result<unknown, ControlPlaneError>): string => (result.isOk() ? "ok" : result.error.kind);

/** Creates a volume, or finds the account's existing volume of that name. */
export const createVolume = (account: string, volume: string): StorageCommand =>
  command(`${account}: create ${volume}`, async (model, { controlPlane, principal }) => {
    const { volumes } = accountOf(model, account);
    const made = (await controlPlane.createVolume(principal(account), { name: volume }))._unsafeUnwrap();
    expect(made).toMatchObject({ name: volume, created: !volumes.has(volume) });
    if (made.created) volumes.set(volume, new Map());
  });

/** Deletes a volume. Fails with `conflict` if deployments mount the volume; the message must name each of them. */
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

/**
 * Restores a deleted volume. Fails with `conflict` if the account has a volume of that name.
 *
 * @param which index among the account's deleted volumes of that name, newest first; if undefined, the call sends no id
 */
export const restoreVolume = (account: string, volume: string, which: number | undefined): StorageCommand =>
  command(`${account}: restore ${volume} ${which ?? ""}`, async (model, { controlPlane, principal }) => {
    const { volumes, trash } = accountOf(model, account);
    const shown = (await controlPlane.listTrash(principal(account)))._unsafeUnwrap();
    const ofName = shown.filter(({ name }) => name === volume);
    const id = which === undefined ? {} : { id: ofName[which % Math.max(1, ofName.length)]?.id ?? "no-such-volume" };
    const back = await controlPlane.restoreVolume(principal(account), { name: volume, ...id });
    if (ofName.length === 0) {
      // The account has no deleted volume of this name. If another account has a live volume of this name, the call
      // fails with `forbidden`.
      const missing = refusalOf(model, account, volume) === "forbidden" ? "forbidden" : "not_found";
      return expect(endOf(back)).toBe(missing);
    }
    expect(endOf(back)).toBe(volumes.has(volume) ? "conflict" : "ok");
    if (back.isErr()) return;
    const at = trash.findIndex((_, index) => shown[index]?.id === (id.id ?? ofName[0]?.id));
    volumes.set(volume, (trash[at] as (typeof trash)[number]).objects);
    trash.splice(at, 1);
  });

/** Uploads an object, or replaces its content. */
export const putObject = (account: string, volume: string, path: string, content: string): StorageCommand =>
  command(`${account}: put ${volume}/${path} ${content}`, async (model, { controlPlane, principal }) => {
    const granted = await controlPlane.grantUpload(principal(account), { volume, object: path });
    expect(endOf(granted)).toBe(refusalOf(model, account, volume) ?? "ok");
    if (granted.isErr()) return;
    const { url, method } = inOnePiece(granted.value);
    expect((await fetch(url, { method, body: content })).ok).toBe(true);
    accountOf(model, account).volumes.get(volume)?.set(path, content);
  });

/** Downloads an object. Fails with `not_found` if the volume has no object at the path. */
export const getObject = (account: string, volume: string, path: string): StorageCommand =>
  command(`${account}: get ${volume}/${path}`, async (model, { controlPlane, principal }) => {
    const content = accountOf(model, account).volumes.get(volume)?.get(path);
    const granted = await controlPlane.grantDownload(principal(account), { volume, path });
    const missing = content === undefined ? "not_found" : "ok";
    expect(endOf(granted)).toBe(refusalOf(model, account, volume) ?? missing);
    if (granted.isOk()) expect(await (await fetch(granted.value.url)).text()).toBe(content);
  });

/** Deletes an object. Fails with `not_found` if the volume has no object at the path. */
export const deleteObject = (account: string, volume: string, path: string): StorageCommand =>
  command(`${account}: rm ${volume}/${path}`, async (model, { controlPlane, principal }) => {
    const objects = accountOf(model, account).volumes.get(volume);
    const gone = await controlPlane.deleteObject(principal(account), { volume, path });
    const missing = objects?.has(path) === true ? "ok" : "not_found";
    expect(endOf(gone)).toBe(refusalOf(model, account, volume) ?? missing);
    if (gone.isOk()) objects?.delete(path);
  });
