/**
 * The configuration of the Google Cloud provider. `docs/reference/configuration.md` and the CLI help are generated from
 * it.
 */
import { z } from "zod";
import { GiB } from "../../core/domain/accounts/limits.ts";
import { spoolSetting } from "../shared/archives/spool-location.ts";
import { releasesKept } from "../shared/deploy/releases-kept.ts";
import { identityProblem, serviceAccountOf } from "./accounts/service-accounts.ts";
import type { GcpClients } from "./clients.ts";

const text = z.string().min(1);
const region = z.string().regex(/^[a-z][a-z0-9-]*$/, "must be the name of a region, such as europe-west1");

export const gcpConfigSchema = z.strictObject({
  project: text.describe("ID of the Google Cloud project"),
  region: region.describe("Region for services, such as europe-west1 (https://cloud.google.com/run/docs/locations)"),
  buildRegion: region
    .optional()
    .describe(
      "Region for builds (default: the region for services). Google restricts builds of some projects to a few regions",
    ),
  dataDir: text.describe("Folder on the server's machine for API keys and for sources waiting to be built"),
  sourceSpool: spoolSetting,
  repository: text.default("portside").describe("Artifact Registry repository for images"),
  stagingBucket: text.optional().describe("Bucket that builds read sources from (default: PROJECT-portside-sources)"),
  buildIdentity: text
    .check(({ value, issues }) => {
      const message = identityProblem(value);
      if (message !== undefined) issues.push({ code: "custom", message, input: value });
    })
    .optional()
    .describe("Service account for builds (default: portside-build@PROJECT.iam.gserviceaccount.com)"),
  settleSeconds: z
    .number()
    .min(0)
    .max(300)
    .default(10)
    .describe("Maximum delay until a log entry appears in Cloud Logging"),
  logReadsPerMinute: z
    .int()
    .min(1)
    .default(60)
    .describe("Maximum log reads per minute by this server. Divide the project's quota of 60 among all replicas"),
  logDataset: text
    .optional()
    .describe("BigQuery dataset linked to the log bucket, as PROJECT.DATASET; required for SQL"),
  billingTable: text.optional().describe("BigQuery table with the detailed billing export, as PROJECT.DATASET.TABLE"),
  sqlLocation: text
    .optional()
    .describe("Location of the linked dataset and the billing export, such as EU (default: reported by BigQuery)"),
  sqlBytesBilled: z
    .int()
    .min(10_485_760)
    .default(10 * GiB)
    .describe("Maximum bytes billed per SQL statement"),
  releasesKept: releasesKept.describe(
    "Number of releases per deployment that a rollback can restore. Portside keeps their revisions and images",
  ),
  softDelete: z
    .enum(["required", "any"])
    .default("required")
    .describe(
      "Use `any` to start even if buckets keep deleted objects for less than seven days; a deleted volume may then be impossible to restore",
    ),
});

/** The configuration as the operator writes it: fields with a default are optional. */
export type GcpConfigInput = z.input<typeof gcpConfigSchema> & {
  /** Clients to use instead of those created with the machine's credentials. */
  readonly clients?: Partial<GcpClients>;
};

/** The configuration with all defaults applied. */
export type GcpConfig = z.output<typeof gcpConfigSchema> & {
  readonly stagingBucket: string;
  readonly buildIdentity: string;
  readonly buildRegion: string;
};

/** Returns the configuration with all defaults applied. Throws a `ZodError` if a value is invalid. */
export const gcpConfigOf = ({ clients: _clients, ...input }: GcpConfigInput): GcpConfig => {
  const given = gcpConfigSchema.parse(input);
  const { project } = given;
  return {
    ...given,
    stagingBucket: given.stagingBucket ?? `${project.replaceAll(/[:.]/g, "-")}-portside-sources`,
    buildRegion: given.buildRegion ?? given.region,
    buildIdentity: given.buildIdentity ?? serviceAccountOf(project, "portside-build"),
  };
};
