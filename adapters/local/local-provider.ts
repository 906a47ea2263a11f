/**
 * The result of `createLocalProvider`. It has a separate file, because the published types must not import the types of
 * Docker's client.
 */
import type { Identity, Ports, Provider } from "../../core/ports/provider.ts";
import type { BillingRows } from "./usage/billing-rows.ts";

export interface LocalProvider {
  readonly provider: Provider;
  readonly identity: Identity;
  /** Everything `createControlPlane` needs. */
  readonly ports: Ports;
  /** The cost of running services, by account. */
  readonly billing: BillingRows;
  /** The TCP port on which the ingress routes requests to services by host name. */
  readonly ingressPort: number;
  /** The port of HTTPS for all services; undefined if Portside does not terminate TLS. */
  readonly tlsPort: number | undefined;
  /** The URL of the API at the TLS port; undefined if the port does not serve the API. See `onApiConnection`. */
  readonly httpsApi: string | undefined;
  /** Reads and writes a named value that persists across restarts, such as the API's port. */
  remembered(name: string): { get(): string | undefined; set(value: string): void };
  /** Returns true if no API key exists. */
  claimFirstKey(): boolean;
  /**
   * Stops the server. If the engine runs in this process, also stops every instance, within the drain and grace times,
   * and unlocks the data folder.
   */
  close(): Promise<void>;
}
