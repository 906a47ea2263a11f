/** What a platform on Google Cloud is told. */
import type { GcpClients } from "./clients.ts";

export interface GcpConfig {
  readonly project: string;
  /** https://cloud.google.com/run/docs/locations */
  readonly region: string;
  /** Holds what the platform keeps on this machine: uploaded sources until they are staged, and its credentials. */
  readonly dataDir: string;
  /** Artifact Registry's Docker repository; the default is `portside`. */
  readonly repository?: string;
  /** The bucket that sources are built from; the default is `PROJECT-portside-sources`. */
  readonly stagingBucket?: string;
  /** E-mail of the service account that builds; never a default one, nor one that services run as. */
  readonly buildIdentity: string;
  /** Seconds that an entry may take to show in Cloud Logging; the default is 10. */
  readonly settleSeconds?: number;
  /** The BigQuery dataset that is linked to the log bucket: `PROJECT.DATASET`. */
  readonly logDataset?: string;
  /** The table of the detailed billing export: `PROJECT.DATASET.TABLE`. */
  readonly billingTable?: string;
  /** Bytes that one statement may be billed for; the default is 10 GiB. */
  readonly sqlBytesBilled?: number;
  /** Start where the project's soft delete is under seven days, so that deleted volumes may be gone at once. */
  readonly acceptShortSoftDelete?: boolean;
  /** Ready-made clients, in place of those that are made from the machine's credentials. */
  readonly clients?: Partial<GcpClients>;
}
