/**
 * The labels (Google Cloud) and tags (AWS) that identify all resources of a deployment. On Cloud Run, the revision's
 * template must have the labels, because Cloud Logging and Cloud Billing read only the labels of revisions
 * (https://cloud.google.com/run/docs/configuring/services/labels).
 */

/** The account's digest (`accountDigest`). */
export const OWNER_LABEL = "portside-owner";

/** The deployment's name. */
export const SERVICE_LABEL = "portside-service";
