/** A cloud for its tests: fakes that simulate one of its accounts, and the provider on these fakes. */
import { createMemoryProvider } from "../../adapters/memory/index.ts";
import { type ControlPlane, createControlPlane } from "../../core/control-plane.ts";
import type { Ports, Provider } from "../../core/ports/provider.ts";
import type { Clock } from "../../core/ports/system.ts";
import type { Faults } from "../fakes/faults.ts";
import { folderWith } from "../support/archives/folders.ts";
import { type RuntimeDeps, runtimeDeps } from "./subject.ts";

export interface Fakes {
  /** Calls and faults of each fake. */
  readonly faults: Readonly<Record<string, Faults>>;
  /** Names of the scheduled jobs that call a service. */
  jobsOf(service: string): readonly string[];
  /** Removes images like the clean-up policy that the operator creates. Absent if the provider removes images. */
  cleanUpImages?(): void;
  close(): Promise<void>;
}

/** Settings of the provider. Each omitted setting has its default. */
export interface CloudSettings {
  readonly releasesKept?: number;
}

export interface Cloud<F extends Fakes = Fakes> {
  readonly name: string;
  /**
   * @param services whether services run as real processes or are simulated
   * @param clock defaults to the machine's
   */
  start(services?: "real" | "simulated", clock?: Clock): Promise<F>;
  provide(
    fakes: F,
    dataDir: string,
    deps: RuntimeDeps,
    settings?: CloudSettings,
  ): Promise<{ readonly provider: Provider; close(): Promise<void> }>;
}

export interface OpenCloud<F extends Fakes> {
  readonly fakes: F;
  /** The cloud's ports, and the memory provider's for the others. */
  readonly ports: Ports;
  close(): Promise<void>;
}

export const openCloud = async <F extends Fakes>(
  { start, provide }: Cloud<F>,
  services: "real" | "simulated" = "real",
  deps: RuntimeDeps = runtimeDeps(),
  settings: CloudSettings = {},
): Promise<OpenCloud<F>> => {
  const folder = folderWith();
  const fakes = await start(services, deps.clock);
  const { provider, close } = await provide(fakes, folder.path, deps, settings);
  return {
    fakes,
    ports: { ...createMemoryProvider(deps).ports, provider },
    close: async () => {
      await close();
      await fakes.close();
      folder[Symbol.dispose]();
    },
  };
};

/** Adds a control plane with practically no rate limit. */
export const openPlatform = async <F extends Fakes>(...args: Parameters<typeof openCloud<F>>) => {
  const cloud = await openCloud<F>(...args);
  const controlPlane: ControlPlane = createControlPlane(cloud.ports, {
    accountLimits: { requestsPerMinute: 1_000_000 },
  });
  return {
    ...cloud,
    controlPlane,
    close: async () => {
      await controlPlane.close();
      await cloud.close();
    },
  };
};

/** Resets the fakes' counts, and removes faults that have not fired. */
export const clearFaults = ({ faults }: Fakes): void => {
  for (const one of Object.values(faults)) one.clear();
};

/** Runs `work` and returns its calls by fake, in order; fakes without calls are left out. */
export const callsOf = async (
  fakes: Fakes,
  work: () => Promise<unknown>,
): Promise<Readonly<Record<string, readonly string[]>>> => {
  clearFaults(fakes);
  await work();
  const calls = Object.entries(fakes.faults).map(([fake, { log }]) => [fake, [...log]] as const);
  clearFaults(fakes);
  return Object.fromEntries(calls.filter(([, log]) => log.length > 0));
};
