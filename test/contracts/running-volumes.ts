/** The contract suite of mounts and variables for services that run (`capabilities.runs`). */
import { expect } from "vitest";
import type { ServiceTemplate } from "../../core/domain/deploy/service-template.ts";
import type { BoundMount } from "../../core/domain/volumes/mounts.ts";
import type { ObjectPath } from "../../core/domain/volumes/object-path.ts";
import type { VolumeName } from "../../core/domain/wire/names.ts";
import type { StoredVolume } from "../../core/ports/volume-store.ts";
import type { ContractCase, ProviderSubject } from "./harness.ts";
import { build, deployed, expectOk, rollOut, serviceOf, templateFor } from "./support.ts";
import { everyObject, newVolume, put, soon, textOf, uploadUrl, volumesOf } from "./volume-steps.ts";

type Case = ContractCase<ProviderSubject>;

const mounting: NonNullable<Case["when"]> = ({ runs, volumes }) => runs.supported && volumes.mounts.supported;

const mountOf = (volume: StoredVolume, path: string, more: Partial<BoundMount> = {}): BoundMount => ({
  path,
  volume: volume.name,
  bucket: volume.id,
  readOnly: false,
  ...more,
});

let places = 0;
/** Returns a path that no other case mounts: without separate file systems, services share their paths. */
const freshPath = (): string => `/srv/portside-contract/${process.pid}-${++places}`;

/** Deploys a service that works on files, with these mounts. The owner of the volumes also owns the service. */
const fileService = async (
  subject: ProviderSubject,
  owner: StoredVolume["owner"],
  mounts: readonly BoundMount[],
  declared: Partial<Pick<ServiceTemplate, "env" | "envAliases">> = {},
) => {
  const name = subject.name();
  const image = await build(subject, owner, name, subject.sources.files());
  const template = { ...templateFor(owner, name, image), ...declared, mounts };
  const { url } = await deployed(subject, template);
  const call = async (method: string, path: string, more: { to?: string; body?: string } = {}) => {
    const query = new URLSearchParams({ path, ...(more.to === undefined ? {} : { to: more.to }) });
    const response = await fetch(`${url}/?${query}`, {
      method,
      ...(more.body === undefined ? {} : { body: more.body }),
    });
    return { ok: response.ok, text: await response.text() };
  };
  const env = async (variable: string) => (await fetch(`${url}/env?name=${variable}`)).text();
  const places: Record<string, string> = JSON.parse((await env("PORTSIDE_MOUNTS")) || "{}");
  return { name, template, call, env, at: (path: string) => places[path] ?? path };
};

const cases: readonly Omit<Case, "group">[] = [
  {
    name: "files written through a mount and uploaded by URL are the same files",
    when: mounting,
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account());
      const path = freshPath();
      await put(subject, volume, "by url/ü.txt", "from outside");
      const { call, at, env } = await fileService(subject, volume.owner, [mountOf(volume, path)]);
      expect((await call("GET", `${at(path)}/by url/ü.txt`)).text).toBe("from outside");
      expect(await call("PUT", `${at(path)}/made/inside.txt`, { body: "from inside" })).toEqual({ ok: true, text: "" });
      expect(await textOf(subject, volume, "made/inside.txt")).toBe("from inside");
      await put(subject, volume, "made/inside.txt", "replaced");
      expect((await call("GET", `${at(path)}/made/inside.txt`)).text).toBe("replaced");
      expect(JSON.parse(await env("PORTSIDE_VOLUMES"))).toEqual({ [path]: volume.id });
    },
  },
  {
    name: "two services can share a volume, which outlives both",
    when: mounting,
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account());
      const path = freshPath();
      const first = await fileService(subject, volume.owner, [mountOf(volume, path)]);
      const second = await fileService(subject, volume.owner, [mountOf(volume, path)]);
      await first.call("PUT", `${first.at(path)}/note`, { body: "hello" });
      expect((await second.call("GET", `${second.at(path)}/note`)).text).toBe("hello");
      for (const { name } of [first, second]) {
        const { etag, owner } = await serviceOf(subject, name);
        await expectOk(subject.provider.services.remove(name, { etag, owner }));
      }
      expect(await textOf(subject, volume, "note")).toBe("hello");
    },
  },
  {
    name: "a read-only mount is readable but not writable",
    when: (capabilities) => mounting(capabilities) && capabilities.volumes.read_only.supported,
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account());
      const [path, writable] = [freshPath(), freshPath()];
      await put(subject, volume, "a", "kept");
      const mounts = [mountOf(volume, path, { readOnly: true }), mountOf(volume, writable)];
      const { call, at } = await fileService(subject, volume.owner, mounts);
      expect((await call("GET", `${at(path)}/a`)).text).toBe("kept");
      expect(await call("PUT", `${at(path)}/a`, { body: "changed" })).toEqual({ ok: false, text: "EROFS" });
      expect((await call("PUT", `${at(writable)}/b`, { body: "fine" })).ok).toBe(true);
      expect((await everyObject(subject, volume, 10)).map((one) => one.path)).toEqual(["a", "b"]);
      expect(await textOf(subject, volume, "a")).toBe("kept");
    },
  },
  {
    name: "a sub_path is the root of its mount, and is created if it does not exist",
    when: mounting,
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account());
      const [path, missing] = [freshPath(), freshPath()];
      await put(subject, volume, "users/ann/a.txt", "ann's");
      await put(subject, volume, "users/bob/b.txt", "bob's");
      const mounts = [
        mountOf(volume, path, { subPath: "users/ann" }),
        mountOf(volume, missing, { subPath: "new/one" }),
      ];
      const { call, at } = await fileService(subject, volume.owner, mounts);
      expect((await call("GET", `${at(path)}/a.txt`)).text).toBe("ann's");
      expect((await call("PUT", `${at(missing)}/c.txt`, { body: "c" })).ok).toBe(true);
      expect(await textOf(subject, volume, "new/one/c.txt")).toBe("c");
    },
  },
  {
    name: "a mount of a missing volume fails the rollout with volume_unavailable",
    when: mounting,
    run: async (subject) => {
      const owner = subject.account();
      const name = subject.name();
      const image = await build(subject, owner, name, subject.sources.files());
      const gone = { name: "gone" as VolumeName, owner, id: "ps-gone", createdAt: "" as StoredVolume["createdAt"] };
      const template = { ...templateFor(owner, name, image), mounts: [mountOf(gone, freshPath())] };
      const events = [];
      for await (const event of rollOut(subject, template, "absent")) events.push(event);
      // A platform that mounts volumes while the service starts may only detect that the service does not listen.
      const reason = expect.stringMatching(/^(volume_unavailable|did_not_listen)$/);
      expect(events.at(-1)).toMatchObject({ kind: "failed", failure: { reason } });
    },
  },
  {
    name: "a symbolic link in a volume never leads out of the volume, by URL, listing or mount",
    when: (capabilities) => mounting(capabilities) && capabilities.isolation !== "none",
    run: async (subject) => {
      const [volume, other] = [
        await newVolume(subject, subject.account()),
        await newVolume(subject, subject.account()),
      ];
      await put(subject, other, "secret", "another's");
      const path = freshPath();
      const { call, at } = await fileService(subject, volume.owner, [mountOf(volume, path)]);
      const targets = ["/etc/passwd", "/etc", "/", `../${other.id}`, `../${other.id}/secret`, "..", "/proc/self/root"];
      for (const [index, to] of targets.entries()) await call("POST", `${at(path)}/link${index}`, { to });
      expect(await everyObject(subject, volume, 100)).toEqual([]);
      for (const [index] of targets.entries())
        for (const inside of ["", "/passwd", "/secret", "/etc/passwd", `/${other.id}/secret`]) {
          const object = `link${index}${inside}` as ObjectPath;
          expect((await volumesOf(subject).stat(volume, object)).isErr()).toBe(true);
          expect((await volumesOf(subject).remove(volume, object)).isErr()).toBe(true);
          const grant = await expectOk(volumesOf(subject).grantDownload(volume, object, soon()));
          expect((await fetch(grant.url)).status).toBe(404);
        }
      // An upload through a link must fail, or replace the link itself.
      const planted = await uploadUrl(subject, volume, "link3/planted");
      await fetch(planted, { method: "PUT", body: "x" });
      expect((await everyObject(subject, other, 100)).map((one) => one.path)).toEqual(["secret"]);
      const mounts = [mountOf(volume, freshPath(), { subPath: "link1" })];
      const name = subject.name();
      const image = await build(subject, volume.owner, name, subject.sources.files());
      const events = [];
      for await (const event of rollOut(subject, { ...templateFor(volume.owner, name, image), mounts }, "absent"))
        events.push(event);
      // A platform that mounts volumes while the service starts may only detect that the service does not listen.
      const reason = expect.stringMatching(/^(volume_unavailable|did_not_listen)$/);
      expect(events.at(-1)).toMatchObject({ kind: "failed", failure: { reason } });
    },
  },
  {
    name: "CRON_TOKEN has the template's value",
    when: ({ runs }) => runs.supported,
    run: async (subject) => {
      const { env, template } = await fileService(subject, subject.account(), []);
      expect(await env("CRON_TOKEN")).toBe(template.cronToken);
    },
  },
  {
    name: "PORTSIDE_BUSY_SOCKET is a path that fits into a socket's address",
    when: ({ busy_leases }) => busy_leases.supported,
    run: async (subject) => {
      const { env } = await fileService(subject, subject.account(), []);
      const path = await env("PORTSIDE_BUSY_SOCKET");
      expect(path).toMatch(/^\//);
      expect(Buffer.byteLength(path)).toBeLessThanOrEqual(107);
    },
  },
  {
    name: "aliases of the platform's variables have their values and override declared variables",
    when: mounting,
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account());
      const envAliases = { OTHER_TOKEN: "CRON_TOKEN", OTHER_PORT: "PORT", OTHER_VOLUMES: "PORTSIDE_VOLUMES" };
      const declared = { env: { OTHER_TOKEN: "declared before it was an alias", OWN: "1" }, envAliases };
      const { env } = await fileService(subject, volume.owner, [mountOf(volume, freshPath())], declared);
      for (const [alias, name] of Object.entries(envAliases)) expect(await env(alias)).toBe(await env(name));
      expect(await env("OWN")).toBe("1");
    },
  },
];

/** The contract suite of mounts and variables for services that run. */
export const runningVolumeCases: readonly Case[] = cases.map((one) => ({ group: "mounts", ...one }));
