/** Configuration of a platform on Google Cloud; source of `docs/reference/configuration.md` and of the command line's help. */
import { z } from "zod";
import { GiB } from "../../core/domain/accounts/limits.ts";
import { spoolSetting } from "../shared/archives/spool-place.ts";
import { identityProblem, serviceAccountOf } from "./accounts/service-accounts.ts";
import type { GcpClients } from "./clients.ts";

const text = z.string().min(1);

export const gcpConfigSchema = z.strictObject({
  project: text.describe("The project's id on Google Cloud."),
  region: text.describe("Where services run, e.g. europe-west1 (https://cloud.google.com/run/docs/locations)."),
  dataDir: text.describe(
    "The folder that holds what the platform keeps on its own machine: sources on their way, and keys.",
  ),
  sourceSpool: spoolSetting,
  repository: text.default("portside").describe("The Docker repository of Artifact Registry that holds the images."),
  stagingBucket: text
    .optional()
    .describe("The bucket that sources are built from (default: PROJECT-portside-sources)."),
  buildIdentity: text
    .check(({ value, issues }) => {
      const message = identityProblem(value);
      if (message !== undefined) issues.push({ code: "custom", message, input: value });
    })
    .optional()
    .describe("The service account that builds (default: portside-build@PROJECT.iam.gserviceaccount.com)."),
  settleSeconds: z
    .number()
    .min(0)
    .max(300)
    .default(10)
    .describe("How long an entry may take to show in Cloud Logging."),
  logReadsPerMinute: z
    .int()
    .min(1)
    .default(60)
    .describe("Reads of the log that this server may make a minute; with replicas, the project's 60 by their number."),
  logDataset: text
    .optional()
    .describe("The BigQuery dataset that is linked to the log bucket, as PROJECT.DATASET; SQL needs it."),
  billingTable: text.optional().describe("The table of the detailed billing export, as PROJECT.DATASET.TABLE."),
  sqlLocation: text
    .optional()
    .describe("Where the linked dataset and the billing export are, e.g. EU (default: where BigQuery finds them)."),
  sqlBytesBilled: z
    .int()
    .min(10_485_760)
    .default(10 * GiB)
    .describe("Bytes that one statement may be billed for."),
  softDelete: z
    .enum(["required", "any"])
    .default("required")
    .describe(
      "With 'any' it starts where deleted objects are kept for less than seven days: deleted volumes may be gone at once.",
    ),
});

export type GcpConfigInput = z.input<typeof gcpConfigSchema> & {
  /** Replaces the clients that would use the machine's credentials. */
  readonly clients?: Partial<GcpClients>;
};

type Parsed = z.output<typeof gcpConfigSchema>;

/** The configuration with all defaults applied. */
export type GcpConfig = Omit<Parsed, "stagingBucket" | "buildIdentity"> & {
  readonly stagingBucket: string;
  readonly buildIdentity: string;
};

/** Throws zod's error if a value is invalid. */
export const gcpConfigOf = ({ clients: _clients, ...input }: GcpConfigInput): GcpConfig => {
  const given = gcpConfigSchema.parse(input);
  const { project } = given;
  return {
    ...given,
    stagingBucket: given.stagingBucket ?? `${project.replaceAll(/[:.]/g, "-")}-portside-sources`,
    buildIdentity: given.buildIdentity ?? serviceAccountOf(project, "portside-build"),
  };
};
