/** `portside prove` on platforms that break one promise each: the step that checks it fails with the reason. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { LogEntry } from "../../../../core/domain/logs/entry.ts";
import type { LogFindings } from "../../../../core/ports/log-store.ts";
import type { Provider } from "../../../../core/ports/provider.ts";
import type { RolloutEvent, RolloutRequest, ServicePlatform } from "../../../../core/ports/service-platform.ts";
import type { CallOptions } from "../../../../core/ports/system.ts";
import { okAsync } from "../../../../core/result.ts";
import { clientOf } from "../../../../hosts/cli/client.ts";
import { createNames } from "../../../../hosts/cli/prove/names.ts";
import type { Step } from "../../../../hosts/cli/prove/proof.ts";
import { runStory, steps } from "../../../../hosts/cli/prove/story.ts";
import { namesIn } from "../../../support/cli/prove.ts";
import { terminal } from "../../../support/cli/terminal.ts";
import { serveApi } from "../../../support/http/api.ts";
import { startLocal, type TestPlatform } from "../../../support/providers/local-platform.ts";

interface Lie {
  readonly promise: string;
  readonly step: string;
  readonly reason: RegExp;
  readonly change: (provider: Provider) => Partial<Provider>;
}

/** The port with some methods replaced. */
const replace = <P extends object>(port: P, methods: Partial<P>): P =>
  new Proxy(port, {
    get: (target, key: keyof P & string) => {
      const own = target[key];
      return methods[key] ?? (typeof own === "function" ? own.bind(target) : own);
    },
  });

/** Changes the request of each rollout; `count` is 1 for the first. */
const rollouts =
  (change: (request: RolloutRequest, count: number, services: ServicePlatform) => Promise<RolloutRequest>) =>
  ({ services }: Provider): Partial<Provider> => {
    let count = 0;
    async function* rollout(request: RolloutRequest, options: CallOptions = {}): AsyncGenerator<RolloutEvent> {
      yield* services.rollout(await change(request, ++count, services), options);
    }
    return { services: replace(services, { rollout }) };
  };

/** Changes the findings of each search after a position. */
const findings =
  (change: (found: LogFindings) => LogFindings) =>
  ({ logs }: Provider): Partial<Provider> => ({
    logs: replace(logs, { after: (...query) => logs.after(...query).map(change) }),
  });

const isLine = ({ text = "" }: { readonly text?: string }, number: number): boolean => text.endsWith(` line ${number}`);

const lies: readonly Lie[] = [
  {
    promise: "a log keeps every line",
    step: "logs",
    reason: /Reading the log again: .* 1 line missing \(first: 7\)/,
    change: (provider) => {
      let reads = 0;
      return findings((found) => {
        const lost = (entry: LogEntry): boolean => isLine(entry, 7) && ++reads > 1;
        return { ...found, entries: found.entries.filter((entry) => !lost(entry)) };
      })(provider);
    },
  },
  {
    promise: "a log has each line once",
    step: "logs",
    reason: /1 line repeated \(first: 130\)/,
    change: findings((found) => ({
      ...found,
      entries: found.entries.flatMap((entry) => (isLine(entry, 130) ? [entry, entry] : [entry])),
    })),
  },
  {
    promise: "a deploy replaces the variables",
    step: "env change",
    reason: /lists the variables PROVE_TOKEN, PROVE_VALUE, not/,
    change: (provider) => {
      let first: RolloutRequest["template"]["env"] | undefined;
      return rollouts(async ({ template, ...request }) => {
        first ??= template.env;
        return { ...request, template: { ...template, env: first } };
      })(provider);
    },
  },
  {
    promise: "the previous revision serves during a rollout",
    step: "redeploy under load",
    reason: /\d+ of \d+ requests failed\. The first: /,
    change: rollouts(async (request, count, services) => {
      if (count < 2 || request.expected === "absent") return request;
      (await services.remove(request.template.name, request.expected))._unsafeUnwrap();
      return { ...request, expected: "absent" };
    }),
  },
  {
    promise: "a service that exits fails its deploy",
    step: "failing deploy",
    reason: /ended with DONE, not ERROR/,
    change: rollouts(async ({ template, ...request }) => {
      const { PROVE_EXIT: _exit, ...env } = template.env;
      return { ...request, template: { ...template, env } };
    }),
  },
  {
    promise: "a deleted volume is in the trash",
    step: "delete",
    reason: /The deleted volume '.*' is not in the trash/,
    change: ({ volumes }) => ({ volumes: replace(volumes, { trash: () => okAsync([]) }) }),
  },
];

/** The step and the steps that it needs. */
const stepsFor = (name: string): readonly Step[] => {
  const needed = new Set([name]);
  for (const step of steps.toReversed()) if (needed.has(step.name)) for (const other of step.after) needed.add(other);
  return steps.filter((step) => needed.has(step.name) || (name === "delete" && step.name === "volume"));
};

describe.concurrent("a broken promise fails its step", () => {
  let platform: TestPlatform;
  beforeAll(async () => {
    platform = await startLocal({ runner: "process" });
  });
  afterAll(() => platform[Symbol.asyncDispose]());

  test.each(lies)("$promise", async ({ step, reason, change }) => {
    const { ports } = platform.local;
    const provider = { ...ports.provider, ...change(ports.provider) };
    await using api = await serveApi({ ...ports, provider });
    const names = createNames();
    const client = clientOf({ url: api.url, apiKey: await api.key(names.run) });
    const state = { url: "", version: 1, deploys: 0, lines: 0, volumes: {} };
    const { capabilities } = provider;
    const proof = { ...names, client, io: terminal().io, capabilities, state, token: "token" };
    const story = await runStory({ proof, show: () => {}, report: () => {} }, stepsFor(step));
    const failed = story.steps.filter(({ result }) => result !== "pass");
    expect(failed.map((one) => one.step)).toEqual([step]);
    expect(failed[0]?.reason).toMatch(reason);
    expect(await namesIn(api, names.run)).toEqual([]);
  });
});
