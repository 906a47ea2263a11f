/**
 * The main job through HTTP and the command line, on any provider: cases know no provider, only what it declares. A case
 * that a provider does not run names the capability that is missing there.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Capabilities, Feature } from "../../core/domain/wire/capabilities.ts";
import type { Ports } from "../../core/ports/provider.ts";
import { portside, type Ran, type RunOptions } from "../support/cli/terminal.ts";
import { serveApi, type TestApi } from "../support/http/api.ts";

export interface Subject {
  readonly api: TestApi;
  readonly capabilities: Capabilities;
  /** A name that no case had before. */
  name(): string;
  /** The command line, signed in as an account. */
  cli(args: readonly string[], options?: RunOptions & { readonly account?: string }): Promise<Ran>;
}

export interface E2eCase {
  readonly name: string;
  /** What the case needs beyond the contract that all providers have in common. */
  readonly needs?: (capabilities: Capabilities) => readonly Feature[];
  run(subject: Subject): Promise<void>;
}

/** What keeps a case from running on a provider: the reasons of missing capabilities; none where it runs. */
export const reasonsAgainst = ({ needs }: E2eCase, capabilities: Capabilities): readonly string[] =>
  (needs?.(capabilities) ?? []).flatMap((feature) => (feature.supported ? [] : [feature.reason]));

export interface StartedPorts {
  readonly ports: Ports;
  close(): Promise<void>;
}

/** Each provider's run of the same cases, by its own name for the report. */
export const e2eTests = (provider: string, cases: readonly E2eCase[], start: () => Promise<StartedPorts>): void => {
  describe(`the main job on ${provider}`, async () => {
    const started = await start();
    const { capabilities } = started.ports.provider;
    let subject: Subject;
    beforeAll(async () => {
      const api = await serveApi(started.ports);
      let counter = 0;
      const keys = new Map<string, string>();
      subject = {
        api,
        capabilities,
        name: () => `e2e-${++counter}`,
        cli: async (args, { account = "acme", ...options } = {}) => {
          const key = keys.get(account) ?? (await api.key(account));
          keys.set(account, key);
          return portside(args, { ...options, env: { PORTSIDE_URL: api.url, PORTSIDE_API_KEY: key, ...options.env } });
        },
      };
    });
    afterAll(async () => {
      await subject.api[Symbol.asyncDispose]();
      await started.close();
    });
    const applies = cases.filter((one) => reasonsAgainst(one, capabilities).length === 0);
    test("what is left out has a reason that the provider declares", () => {
      for (const one of cases.filter((each) => !applies.includes(each)))
        for (const reason of reasonsAgainst(one, capabilities)) expect(reason.length).toBeGreaterThan(10);
      expect(applies.length).toBeGreaterThan(0);
    });
    for (const { name, run } of applies) test(name, () => run(subject));
  });
};
