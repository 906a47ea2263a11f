/**
 * Runs the end-to-end cases through HTTP and the command line on any provider. Cases depend only on the capabilities of
 * the provider. A provider states the reason for a capability that it lacks, and skips the cases that need it.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Capabilities, Feature } from "../../core/domain/wire/capabilities.ts";
import type { Ports } from "../../core/ports/provider.ts";
import { type CommandResult, portside, type RunOptions } from "../support/cli/terminal.ts";
import { serveApi, type TestApi } from "../support/http/api.ts";

export interface Subject {
  readonly api: TestApi;
  readonly capabilities: Capabilities;
  /** A name that no earlier case used. */
  name(): string;
  /** The command line, signed in as an account. */
  cli(args: readonly string[], options?: RunOptions & { readonly account?: string }): Promise<CommandResult>;
}

export interface E2eCase {
  readonly name: string;
  /** Capabilities that the case needs and not every provider has. */
  readonly needs?: (capabilities: Capabilities) => readonly Feature[];
  run(subject: Subject): Promise<void>;
}

/** The reasons of missing capabilities that exclude a case from a provider; empty if it runs. */
export const reasonsAgainst = ({ needs }: E2eCase, capabilities: Capabilities): readonly string[] =>
  (needs?.(capabilities) ?? []).flatMap((feature) => (feature.supported ? [] : [feature.reason]));

export interface StartedPorts {
  readonly ports: Ports;
  close(): Promise<void>;
}

/** Runs the cases on one provider, under its name in the report. */
export const e2eTests = (provider: string, cases: readonly E2eCase[], start: () => Promise<StartedPorts>): void => {
  describe(`end-to-end cases on ${provider}`, async () => {
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
    test("the provider states a reason for each skipped case", () => {
      for (const one of cases.filter((each) => !applies.includes(each)))
        for (const reason of reasonsAgainst(one, capabilities)) expect(reason.length).toBeGreaterThan(10);
      expect(applies.length).toBeGreaterThan(0);
    });
    for (const { name, run } of applies) test(name, () => run(subject));
  });
};
