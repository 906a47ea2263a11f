/**
 * The labels (Google Cloud) and tags (Amazon) by which everything of a deployment is found again. On a service of Cloud
 * Run they stand in the revision's template: Cloud Logging and Cloud Billing get those alone
 * (https://cloud.google.com/run/docs/configuring/services/labels).
 */

/** The account's digest (`accountDigest`). */
export const OWNER_LABEL = "portside-owner";

/** The deployment's name. */
export const SERVICE_LABEL = "portside-service";
