/** How a platform on Google Cloud is set up; `docs/configuration.md` and the command line's help are made from it. */
import { z } from "zod";
import { GiB } from "../../core/domain/limits.ts";
import type { GcpClients } from "./clients.ts";

const text = (description: string) => z.string().min(1).describe(description);

/** Identities that Google makes by itself, with more rights than a build should have. */
const defaultIdentity = /^(?:\d+-compute@developer|\d+@cloudbuild|[^@]+@appspot)\.gserviceaccount\.com$/;

export const gcpConfigSchema = z.strictObject({
  project: text("The project's id on Google Cloud."),
  region: text("Where services run, e.g. europe-west1: https://cloud.google.com/run/docs/locations"),
  dataDir: text("The folder that holds what the platform keeps on its own machine: sources on their way, and keys."),
  repository: text("The Docker repository of Artifact Registry that holds the images.").default("portside"),
  stagingBucket: text("The bucket that sources are built from (default: PROJECT-portside-sources).").optional(),
  buildIdentity: text("The service account that builds (default: portside-build@PROJECT.iam.gserviceaccount.com).")
    .refine((email) => !defaultIdentity.test(email), "a default identity has more rights than a build should have")
    .optional(),
  settleSeconds: z
    .number()
    .min(0)
    .max(300)
    .default(10)
    .describe("How long an entry may take to show in Cloud Logging."),
  logDataset: text(
    "The BigQuery dataset that is linked to the log bucket, as PROJECT.DATASET; SQL needs it.",
  ).optional(),
  billingTable: text("The table of the detailed billing export, as PROJECT.DATASET.TABLE.").optional(),
  sqlBytesBilled: z
    .int()
    .min(10_485_760)
    .default(10 * GiB)
    .describe("Bytes that one statement may be billed for."),
  softDelete: z
    .enum(["required", "any"])
    .default("required")
    .describe(
      "Whether the project must keep deleted objects for seven days; 'any': deleted volumes may be gone at once.",
    ),
});

export type GcpConfigInput = z.input<typeof gcpConfigSchema> & {
  /** Ready-made clients, in place of those that are made from the machine's credentials. */
  readonly clients?: Partial<GcpClients>;
};

type Parsed = z.output<typeof gcpConfigSchema>;

/** With every default in its place. */
export type GcpConfig = Omit<Parsed, "stagingBucket" | "buildIdentity"> & {
  readonly stagingBucket: string;
  readonly buildIdentity: string;
};

/** Throws zod's error where a value is wrong. */
export const gcpConfigOf = ({ clients: _clients, ...input }: GcpConfigInput): GcpConfig => {
  const given = gcpConfigSchema.parse(input);
  const { project } = given;
  return {
    ...given,
    stagingBucket: given.stagingBucket ?? `${project}-portside-sources`,
    buildIdentity: given.buildIdentity ?? `portside-build@${project}.iam.gserviceaccount.com`,
  };
};
