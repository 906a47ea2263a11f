/** Converts settings to a cloud provider's configuration. Throws `SettingsError` if a required setting is missing. */
import type { z } from "zod";
import { type AwsConfigInput, awsConfigSchema } from "../../../adapters/aws/config.ts";
import { type GcpConfigInput, gcpConfigSchema } from "../../../adapters/gcp/config.ts";
import { flagOf, type ServeSettings, SettingsError, variableOf } from "../settings.ts";
import { unprefixed } from "./settings-names.ts";

type Shape = Readonly<Record<string, z.ZodType>>;

const fieldsOf = (provider: string, shape: Shape, settings: ServeSettings): Record<string, unknown> => {
  const { fields, lacking } = unprefixed(provider, shape, settings);
  const named = lacking.map((key) => `--${flagOf(key)} (or ${variableOf(key)})`);
  if (named.length > 0) throw new SettingsError(`The provider ${provider} needs ${named.join(" and ")}.`);
  return fields;
};

export const gcpConfigFrom = (settings: ServeSettings): GcpConfigInput => {
  const { dataDir: _folder, sourceSpool: _spool, ...own } = gcpConfigSchema.shape;
  const { dataDir, sourceSpool } = settings;
  return { ...fieldsOf("gcp", own, settings), dataDir, sourceSpool } as GcpConfigInput;
};

/** The config file's section `aws` may name shared resources explicitly. */
export const awsConfigFrom = (settings: ServeSettings): AwsConfigInput => {
  const { dataDir: _folder, sourceSpool: _spool, shared, ...own } = awsConfigSchema.shape;
  const given = shared.safeParse(settings.sections["aws"] ?? {});
  if (!given.success)
    throw new SettingsError(
      given.error.issues.map(({ path, message }) => `'aws.${path.join(".")}' of the file: ${message}`).join("\n"),
    );
  const { dataDir, sourceSpool } = settings;
  return { ...fieldsOf("aws", own, settings), shared: given.data, dataDir, sourceSpool } as AwsConfigInput;
};
