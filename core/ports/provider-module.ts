/** The interface of provider modules, which `portside serve --provider` loads. */
import type { Finding } from "../domain/wire/check.ts";
import type { Identity, Provider } from "./provider.ts";
import type { Clock, Ids, Logger } from "./system.ts";
import type { Telemetry } from "./telemetry.ts";

/**
 * A validator with the Standard Schema interface, which Zod, Valibot and ArkType implement.
 * https://standardschema.dev/schema
 */
export interface ConfigSchema<Config> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => ConfigResult<Config> | Promise<ConfigResult<Config>>;
    readonly types?: { readonly input: unknown; readonly output: Config } | undefined;
  };
}

/** The validated configuration, or its issues. */
export type ConfigResult<Config> =
  | { readonly value: Config; readonly issues?: undefined }
  | { readonly issues: readonly ConfigIssue[] };

/** A problem in a configuration. `path` locates the setting. */
export interface ConfigIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The dependencies that every provider receives from the platform. */
export interface RuntimeDeps {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
}

/** A running provider. */
export interface LoadedProvider {
  readonly provider: Provider;
  /**
   * The provider's own authentication. A keys database (`--keys-database`) takes precedence. Without both, Portside
   * stores API keys in the data folder.
   */
  readonly identity?: Identity;
  /** The TCP port of the proxy that routes requests to services by host name, if the provider has one. */
  readonly ingressPort?: number;
  /** The HTTPS port for all services; undefined if the provider does not terminate TLS itself. */
  readonly tlsPort?: number | undefined;
  /** The URL of the API on that port; undefined if the port does not serve the API. */
  readonly httpsApi?: string | undefined;
  /**
   * Returns a getter and a setter for a named value that survives restarts. The server stores its API port this way.
   */
  readonly remembered?: (name: string) => { get(): string | undefined; set(value: string): void };
  /** Returns true if the caller must create the first key. Must return false if a key exists. */
  readonly claimFirstKey?: () => boolean | Promise<boolean>;
  /** Stops the provider. The platform calls `close` once, after the control plane has closed. */
  close?(): Promise<void>;
}

/**
 * The interface between a provider and the platform. With `--provider PATH`, the default export of the file must be a
 * provider module.
 */
export interface ProviderModule<Config = unknown> {
  /** The provider's name in messages. */
  readonly name: string;
  /** Validates the configuration before `load` and `doctor` receive it. */
  readonly configSchema: ConfigSchema<Config>;
  /** Starts the provider. If `load` fails, it must release all opened resources before it rejects. */
  load(config: Config, deps: RuntimeDeps): Promise<LoadedProvider>;
  /**
   * Checks the provider's prerequisites, for `portside doctor`. Must not start the provider. Yields each finding as
   * soon as it is known.
   */
  doctor?(config: Config, environment: Readonly<Record<string, string | undefined>>): AsyncIterable<Finding>;
}
