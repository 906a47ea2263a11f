/** The contract suite of `ImageBuilder`. */
import { expect } from "vitest";
import type { BuildEvent } from "../../core/ports/image-builder.ts";
import type { ContractCase, ProviderSubject } from "./harness.ts";
import { build, collect, newDeployId, receive } from "./support.ts";

type Case = ContractCase<ProviderSubject>;

const buildEvents = async (
  subject: ProviderSubject,
  bytes: Uint8Array,
  signal?: AbortSignal,
): Promise<BuildEvent[]> => {
  const source = await receive(subject, bytes);
  const request = { owner: subject.account(), name: subject.name(), deployId: newDeployId(), source };
  const events = await collect(subject.provider.builder.build(request, signal === undefined ? {} : { signal }));
  await source.discard();
  return events;
};

/** The contract suite of `ImageBuilder`. */
export const imageBuilderCases: readonly Case[] = [
  {
    group: "build",
    name: "yields progress, then exactly one final event",
    run: async (subject) => {
      const kinds = (await buildEvents(subject, subject.sources.hello("built"))).map(({ kind }) => kind);
      expect(kinds.length).toBeGreaterThan(1);
      expect(kinds.slice(0, -1).every((kind) => kind === "progress")).toBe(true);
      expect(kinds.at(-1)).toBe("built");
    },
  },
  {
    group: "build",
    name: "does not discard the source",
    run: async (subject) => {
      const bytes = subject.sources.hello("kept");
      const source = await receive(subject, bytes);
      await collect(
        subject.provider.builder.build({
          owner: subject.account(),
          name: subject.name(),
          deployId: newDeployId(),
          source,
        }),
      );
      const again = Buffer.concat(await collect(source.open()));
      await source.discard();
      expect(again.equals(bytes)).toBe(true);
    },
  },
  {
    group: "content-addressed images",
    name: "the same source of an account returns the same image, and a different source returns a different image",
    run: async (subject) => {
      const [owner, name] = [subject.account(), subject.name()];
      const one = await build(subject, owner, name, subject.sources.hello("one"));
      expect(await build(subject, owner, subject.name(), subject.sources.hello("one"))).toBe(one);
      expect(await build(subject, owner, name, subject.sources.hello("two"))).not.toBe(one);
    },
  },
  {
    group: "content-addressed images",
    name: "the same source of another account returns a different image",
    run: async (subject) => {
      const source = subject.sources.hello("shared by chance");
      const one = await build(subject, subject.account(), subject.name(), source);
      expect(await build(subject, subject.account(), subject.name(), source)).not.toBe(one);
    },
  },
  {
    group: "content-addressed images",
    name: "concurrent builds of the same source return one image",
    run: async (subject) => {
      const owner = subject.account();
      const source = subject.sources.hello("concurrent");
      const images = await Promise.all([1, 2, 3].map(() => build(subject, owner, subject.name(), source)));
      expect(new Set(images).size).toBe(1);
    },
  },
  {
    group: "abort",
    name: "an aborted build fails with interrupted, and the source can be built afterwards",
    run: async (subject) => {
      const source = subject.sources.hello("aborted");
      const last = (await buildEvents(subject, source, AbortSignal.abort())).at(-1);
      expect(last).toMatchObject({ kind: "failed", failure: { reason: "interrupted" } });
      await build(subject, subject.account(), subject.name(), source);
    },
  },
  {
    group: "undeclared builders",
    name: "a Dockerfile without a container engine fails with no_builder",
    when: ({ builders }) => !builders.dockerfile.supported,
    run: async (subject) => {
      const last = (await buildEvents(subject, subject.sources.dockerfile())).at(-1);
      expect(last).toMatchObject({ kind: "failed", failure: { reason: "no_builder" } });
    },
  },
];
