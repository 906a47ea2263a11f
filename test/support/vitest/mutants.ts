/** Mutation tests of contract suites: each group must reject a provider that is broken in one way on purpose. */
import { describe, expect, test } from "vitest";
import { createMemoryProvider } from "../../../adapters/memory/index.ts";
import type { Provider } from "../../../core/ports/provider.ts";
import { type ContractCase, freshNames, type ProviderSubject } from "../../contracts/index.ts";
import { nodeContractSources } from "../providers/contract-sources.ts";

/** For each group, one or more broken implementations that it must reject, by defect. */
export type Mutants<S> = Readonly<Record<string, (() => S) | Readonly<Record<string, () => S>>>>;

export const subjectWith = (change: (provider: Provider) => Partial<Provider>): ProviderSubject => {
  const { provider } = createMemoryProvider();
  return { provider: { ...provider, ...change(provider) }, sources: nodeContractSources, ...freshNames("mutant") };
};

/** Whether one of the cases fails; stops at the first failure. */
const isRejected = async <S>(cases: readonly ContractCase<S>[], subject: S): Promise<boolean> => {
  for (const one of cases) {
    const passed = await one.run(subject).then(
      () => true,
      () => false,
    );
    if (!passed) return true;
  }
  return false;
};

export const mutantTests = <S>(suite: string, cases: readonly ContractCase<S>[], mutants: Mutants<S>): void => {
  const groups = [...new Set(cases.map(({ group }) => group))];
  describe(suite, () => {
    test("every group has a mutant", () => expect(Object.keys(mutants).sort()).toEqual([...groups].sort()));
    for (const group of groups) {
      const own = cases.filter((one) => one.group === group);
      const found = mutants[group] ?? {};
      const all = Object.entries(typeof found === "function" ? { mutant: found } : found);
      for (const [what, make] of all)
        test(`'${group}' rejects the ${what}`, async () => expect(await isRejected(own, make())).toBe(true));
    }
  });
};
