/** The project that the fakes stand for, and how a platform on it is set up. */
import { type GcpConfig, gcpConfigOf } from "../../../adapters/gcp/config.ts";

export const PROJECT = "test-project";
export const REGION = "europe-west1";

export const gcpConfig: GcpConfig = gcpConfigOf({
  project: PROJECT,
  region: REGION,
  dataDir: "/nowhere",
  buildIdentity: `builds@${PROJECT}.iam.gserviceaccount.com`,
});
/** The bucket that sources are built from where none is named. */
export const STAGING_BUCKET = `${PROJECT}-portside-sources`;
