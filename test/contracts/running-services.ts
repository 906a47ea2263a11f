/** The contract suite of platforms whose services run (`capabilities.runs`), and one case for simulations. */
import { expect } from "vitest";
import type { ContractCase, ProviderSubject } from "./harness.ts";
import { build, deployed, expectOk, failedWith, rollOut, running, serviceOf, templateFor } from "./support.ts";

type Case = ContractCase<ProviderSubject>;

const runs: NonNullable<Case["when"]> = (capabilities) => capabilities.runs.supported;

const textAt = async (url: string): Promise<string> => (await fetch(url, { headers: { connection: "close" } })).text();

const next = async (subject: ProviderSubject, before: Awaited<ReturnType<typeof running>>, source: Uint8Array) => {
  const image = await build(subject, before.owner, before.name, source);
  const { etag, owner } = await serviceOf(subject, before.name);
  return { template: { ...before.template, image }, expected: { etag, owner } };
};

/** The contract suite of `ServicePlatform` for services that run. */
export const runningServiceCases: readonly Case[] = [
  {
    group: "a running service",
    name: "responds at its URL once the rollout is ready",
    when: runs,
    run: async (subject) => {
      const { ready } = await running(subject, "first words");
      expect(await textAt(ready.url)).toBe("first words");
    },
  },
  {
    group: "a running service",
    name: "keeps its URL after the next rollout, and responds as the new revision",
    when: runs,
    run: async (subject) => {
      const before = await running(subject, "old");
      const { template, expected } = await next(subject, before, subject.sources.hello("new"));
      const ready = await deployed(subject, template, expected);
      expect(ready.url).toBe(before.ready.url);
      expect(await textAt(ready.url)).toBe("new");
    },
  },
  {
    group: "a running service",
    name: "is not reachable after its removal",
    when: runs,
    run: async (subject) => {
      const { name, owner, service, ready } = await running(subject, "soon gone");
      await expectOk(subject.provider.services.remove(name, { etag: service.etag, owner }));
      const answer = await textAt(ready.url).catch(() => "no connection");
      expect(answer).not.toBe("soon gone");
    },
  },
  {
    group: "a service that does not start",
    name: "fails with exited or crashed and its exit code, and the previous revision keeps serving",
    when: runs,
    run: async (subject) => {
      const before = await running(subject, "still here");
      for (const code of [0, 7]) {
        const { template, expected } = await next(subject, before, subject.sources.exits(code));
        const events = [];
        for await (const event of rollOut(subject, template, expected)) events.push(event);
        const last = events.at(-1);
        expect(last).toMatchObject({
          kind: "failed",
          failure: { reason: code === 0 ? "exited" : "crashed", exitCode: code },
        });
        expect(await textAt(before.ready.url)).toBe("still here");
        expect((await serviceOf(subject, before.name)).serving[0]?.id).toBe(before.ready.revision);
      }
    },
  },
  {
    group: "a service that does not start",
    name: "fails with did_not_listen at its deadline",
    when: runs,
    run: async (subject) => {
      const before = await running(subject, "still here");
      const { template, expected } = await next(subject, before, subject.sources.silent());
      await failedWith(rollOut(subject, template, expected, { listenDeadlineMs: 1500 }), "did_not_listen");
      expect(await textAt(before.ready.url)).toBe("still here");
    },
  },
  {
    group: "a service that does not start",
    name: "fails with unhealthy at its deadline if its health check does not pass, and the previous revision keeps serving",
    when: (capabilities) => runs(capabilities) && capabilities.health.supported,
    run: async (subject) => {
      const before = await running(subject, "still here");
      const { template, expected } = await next(subject, before, subject.sources.files());
      const check = { interval: 5, timeout: 2, failures: 2 };
      // The service responds with 500, because the file does not exist.
      const sick = { ...template, health: { ...check, path: "/?path=/nosuch" } };
      await failedWith(rollOut(subject, sick, expected, { listenDeadlineMs: 1500 }), "unhealthy");
      expect(await textAt(before.ready.url)).toBe("still here");
      const { etag, owner } = await serviceOf(subject, before.name);
      const well = { ...template, health: { ...check, path: "/env?name=PORT" } };
      await deployed(subject, well, { etag, owner });
      expect(await textAt(`${before.ready.url}/env?name=PORT`)).toMatch(/^\d+$/);
    },
  },
  {
    group: "a service that does not start",
    name: "stays without a serving revision if it is the first, and can be deployed again",
    when: runs,
    run: async (subject) => {
      const [owner, name] = [subject.account(), subject.name()];
      const broken = await build(subject, owner, name, subject.sources.exits(3));
      await failedWith(rollOut(subject, templateFor(owner, name, broken), "absent"), "crashed");
      const failed = await serviceOf(subject, name);
      expect(failed.serving).toEqual([]);
      const image = await build(subject, owner, name, subject.sources.hello("mended"));
      const ready = await deployed(subject, templateFor(owner, name, image), { etag: failed.etag, owner });
      expect(await textAt(ready.url)).toBe("mended");
    },
  },
  {
    group: "a service that does not start",
    name: "ends on an abort while it starts, and the previous revision keeps serving",
    when: runs,
    run: async (subject) => {
      const before = await running(subject, "still here");
      const { template, expected } = await next(subject, before, subject.sources.silent());
      const abort = new AbortController();
      const events = [];
      for await (const event of rollOut(subject, template, expected, { signal: abort.signal })) {
        events.push(event);
        abort.abort();
      }
      expect(events.at(-1)).toMatchObject({ kind: "failed", failure: { reason: "interrupted" } });
      expect(await textAt(before.ready.url)).toBe("still here");
    },
  },
  {
    group: "a simulation",
    name: "returns a URL that no name server resolves",
    when: (capabilities) => !runs(capabilities),
    run: async (subject) => {
      const { ready } = await running(subject);
      expect(new URL(ready.url).hostname).toMatch(/\.invalid$/);
    },
  },
];
