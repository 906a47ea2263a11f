/** A control plane on the memory provider with a manual clock, and sources that record whether they were discarded. */
import {
  createManualClock,
  createMemoryProvider,
  type ManualClock,
  type MemoryProvider,
} from "../../../adapters/memory/index.ts";
import { type ControlPlane, createControlPlane, type DeployRun } from "../../../core/control-plane.ts";
import { type AccountId, type Principal, parseAccount } from "../../../core/domain/accounts/account.ts";
import type { Deployment } from "../../../core/domain/deploy/deployment.ts";
import type { DeployEvent } from "../../../core/domain/deploy/events.ts";
import type { Capabilities } from "../../../core/domain/wire/capabilities.ts";
import type { ControlPlaneError } from "../../../core/errors.ts";
import type { Ports, Provider } from "../../../core/ports/provider.ts";
import type { Source } from "../../../core/ports/source-spool.ts";
import type { Logger } from "../../../core/ports/system.ts";
import type { Result } from "../../../core/result.ts";
import type { SettingsInput } from "../../../core/use-cases/pipeline/context.ts";
import { whileTicking } from "../../simulation/ticking.ts";

type Fields = Readonly<Record<string, unknown>>;

export interface MemoryPlatform {
  readonly controlPlane: ControlPlane;
  readonly memory: MemoryProvider;
  readonly clock: ManualClock;
  /** Sources that a deploy received and has not discarded. */
  readonly kept: ReadonlySet<Source>;
  principal(account?: string): Principal;
  /** Requests a deploy of `app`; resolves before the stream begins. */
  submit(fields?: Fields, account?: string): Promise<Result<DeployRun, ControlPlaneError>>;
}

export interface MemoryOptions {
  readonly clock?: ManualClock;
  readonly settings?: SettingsInput;
  readonly capabilities?: Partial<Capabilities>;
  readonly logger?: Logger;
  /** The memory provider of another control plane, to share it. */
  readonly memory?: MemoryProvider;
  /** Adds faults and delays to the provider's ports. */
  readonly around?: (provider: Provider, clock: ManualClock) => Partial<Provider>;
  /** Logger, metrics and tracing. */
  readonly watch?: { ports?(ports: Ports): Ports; controlPlane?(controlPlane: ControlPlane): ControlPlane };
}

const principal = (account = "acme"): Principal => ({
  account: parseAccount(account) as AccountId,
  credentialId: "test",
});

let sources = 0;

export const startMemory = (options: MemoryOptions = {}): MemoryPlatform => {
  const { clock = createManualClock(), settings = {}, capabilities = {}, around } = options;
  const logger = options.logger === undefined ? {} : { logger: options.logger };
  const memory = options.memory ?? createMemoryProvider({ clock, capabilities, ...logger });
  const provider = { ...memory.provider, ...around?.(memory.provider, clock) };
  const { ports = (own: Ports) => own, controlPlane: watched = (own: ControlPlane) => own } = options.watch ?? {};
  const controlPlane = watched(createControlPlane(ports({ ...memory.ports, ...logger, provider }), settings));
  const kept = new Set<Source>();
  const newSource = (): Source => {
    const source: Source = {
      digest: `sha256:${String(++sources).padStart(64, "0")}`,
      bytes: 1,
      open: async function* () {
        yield Uint8Array.of(0);
      },
      discard: async () => void kept.delete(source),
    };
    kept.add(source);
    return source;
  };
  return {
    controlPlane,
    memory,
    clock,
    kept,
    principal,
    submit: async (fields = {}, account = "acme") =>
      controlPlane.deploy(principal(account), {
        fields: { function_name: "app", volumes: {}, ...fields },
        archive: { kind: "accepted", source: newSource() },
      }),
  };
};

/** Returns every record of a deploy. Advances the clock until the deploy has ended. */
export const recordsOf = (platform: MemoryPlatform, run: DeployRun): Promise<DeployEvent[]> =>
  whileTicking(platform.clock, Array.fromAsync(run.follow()));

/** A deploy that must be accepted. */
export const accepted = async (platform: MemoryPlatform, fields?: Fields, account?: string): Promise<DeployRun> => {
  const run = await whileTicking(platform.clock, platform.submit(fields, account));
  if (run.isErr()) throw new Error(`the deploy was rejected: ${JSON.stringify(run.error)}`);
  return run.value;
};

/** Deploys and returns the records, with any outcome. */
export const ended = async (platform: MemoryPlatform, fields?: Fields, account?: string): Promise<DeployEvent[]> =>
  recordsOf(platform, await accepted(platform, fields, account));

/** Deploys, which must succeed. */
export const deployed = async (platform: MemoryPlatform, fields?: Fields, account?: string): Promise<DeployEvent[]> => {
  const records = await ended(platform, fields, account);
  if (records.at(-1)?.status !== "DONE") throw new Error(`the deploy failed: ${JSON.stringify(records.at(-1))}`);
  return records;
};

/** The account's deployments. */
export const listed = async (
  { controlPlane, principal }: MemoryPlatform,
  account?: string,
): Promise<readonly Deployment[]> => (await controlPlane.listDeployments(principal(account)))._unsafeUnwrap();

/** Records as short texts. */
export const recordTexts = (records: readonly DeployEvent[]): string[] =>
  records.map(({ status, message }) => `${status} ${message}`);

/** A logger that records its messages. */
export const recorder = (): { readonly logger: Logger; readonly logged: string[] } => {
  const logged: string[] = [];
  const note = (message: string) => void logged.push(message);
  return { logged, logger: { debug: note, info: note, warn: note, error: note } };
};
