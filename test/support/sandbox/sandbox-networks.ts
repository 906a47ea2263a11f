/** The networks of sandboxes in the machine's process table. */

import { allProcesses, environmentOf, programOf } from "../../../adapters/local/instances/proc.ts";
import { MARKER } from "../../../adapters/local/sandbox/runner.ts";

export interface SandboxNetwork {
  /** Every process that creates or holds it. */
  readonly pids: readonly number[];
  /** Its first process, once the network is ready. */
  readonly holder: number | undefined;
}

/** The networks of a server's scope, by name. */
export const networksOf = (scope: string): ReadonlyMap<string, SandboxNetwork> => {
  const mark = `${MARKER}=${scope}.network-`;
  const found = allProcesses().flatMap(({ pid }) => {
    const name = environmentOf(pid).find((one) => one.startsWith(mark));
    return name === undefined ? [] : [{ pid, name }];
  });
  const byName = Map.groupBy(found, ({ name }) => name);
  return new Map(
    [...byName].map(([name, all]) => {
      const pids = all.map(({ pid }) => pid);
      return [name, { pids, holder: pids.find((pid) => programOf(pid) === "cat") }];
    }),
  );
};

/** The first processes of the networks that are ready. */
export const holdersOf = (scope: string): number[] =>
  [...networksOf(scope).values()].flatMap(({ holder }) => holder ?? []);
