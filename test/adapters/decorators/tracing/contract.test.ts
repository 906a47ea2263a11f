/** Traced ports fulfil the contract while an SDK records them. */
import { afterAll, expect, test } from "vitest";
import { tracePorts } from "../../../../adapters/decorators/tracing/index.ts";
import { memoryCapabilities } from "../../../../adapters/memory/capabilities.ts";
import { createMemoryProvider } from "../../../../adapters/memory/index.ts";
import { contractTests, freshNames, identityCases, providerCases, sqlEngineCases } from "../../../contracts/index.ts";
import { recordSpans } from "../../../support/logs/spans.ts";
import { nodeContractSources } from "../../../support/providers/contract-sources.ts";

const spans = recordSpans();
afterAll(() => spans[Symbol.dispose]());

/** One case suffices: a statement takes a second, and the decorator treats all statements alike. */
const oneStatement = sqlEngineCases.filter(({ name }) => name === "entries have every column, with their values");

contractTests(
  "traced memory provider",
  [...providerCases.filter((one) => !sqlEngineCases.includes(one)), ...oneStatement],
  async () => {
    const { ports, close } = createMemoryProvider();
    const { provider } = tracePorts(ports);
    return { subject: { provider, sources: nodeContractSources, ...freshNames("memory") }, close };
  },
  memoryCapabilities,
);

contractTests("traced memory identity", identityCases, async () => ({
  subject: { identity: tracePorts(createMemoryProvider().ports).identity, account: freshNames("memory").account },
  close: async () => undefined,
}));

test("the SDK recorded the port calls of the cases", () => {
  const names = new Set(spans.ended().map(({ name }) => name));
  for (const name of ["services.rollout", "builder.build", "logs.after", "volumes.create", "keys.create", "sql.run"])
    expect(names).toContain(name);
});
