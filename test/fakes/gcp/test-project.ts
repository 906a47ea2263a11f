/** The project that the fakes simulate, and the configuration of a platform on it. */
import { type GcpConfig, gcpConfigOf } from "../../../adapters/gcp/config.ts";

export const PROJECT = "test-project";
export const PROJECT_NUMBER = "123456789012";
export const REGION = "europe-west1";

export const gcpConfig: GcpConfig = gcpConfigOf({
  project: PROJECT,
  region: REGION,
  dataDir: "/nowhere",
  buildIdentity: `builds@${PROJECT}.iam.gserviceaccount.com`,
});
/** The default bucket for build sources. */
export const STAGING_BUCKET = `${PROJECT}-portside-sources`;
