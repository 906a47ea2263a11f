/** The APIs that the project must enable, each with its purpose, and the permissions of the platform's identity. */

/** https://docs.cloud.google.com/service-usage/docs/enabled-service */
export const apis: Readonly<Record<string, string>> = {
  "run.googleapis.com": "running services",
  "cloudbuild.googleapis.com": "building sources",
  "artifactregistry.googleapis.com": "storing images",
  "storage.googleapis.com": "storing volumes and sources",
  "cloudscheduler.googleapis.com": "running schedules",
  "logging.googleapis.com": "storing logs",
  "monitoring.googleapis.com": "reading metrics",
  "secretmanager.googleapis.com": "storing secrets",
  "iam.googleapis.com": "creating a service account for each account",
  "iamcredentials.googleapis.com": "signing URLs if the platform has no key",
};

/** Required only with SQL. */
export const sqlApi = "bigquery.googleapis.com";

/**
 * Predefined roles, each with the permissions that the platform uses:
 * https://docs.cloud.google.com/iam/docs/roles-permissions
 */
export const roles: Readonly<Record<string, readonly string[]>> = {
  "roles/run.admin": [
    "run.services.create",
    "run.services.get",
    "run.services.list",
    "run.services.update",
    "run.services.delete",
    "run.services.setIamPolicy",
    "run.services.getIamPolicy",
    "run.revisions.get",
    "run.revisions.list",
    "run.revisions.delete",
  ],
  "roles/cloudbuild.builds.editor": [
    "cloudbuild.builds.create",
    "cloudbuild.builds.get",
    "cloudbuild.builds.list",
    "cloudbuild.builds.update",
  ],
  "roles/artifactregistry.repoAdmin": [
    "artifactregistry.repositories.get",
    "artifactregistry.tags.get",
    "artifactregistry.tags.list",
    "artifactregistry.tags.create",
    "artifactregistry.tags.delete",
    "artifactregistry.versions.get",
  ],
  "roles/storage.admin": [
    "storage.buckets.create",
    "storage.buckets.get",
    "storage.buckets.list",
    "storage.buckets.update",
    "storage.buckets.delete",
    "storage.buckets.restore",
    "storage.buckets.getIamPolicy",
    "storage.buckets.setIamPolicy",
    "storage.objects.create",
    "storage.objects.get",
    "storage.objects.list",
    "storage.objects.delete",
    "storage.objects.restore",
  ],
  "roles/cloudscheduler.admin": [
    "cloudscheduler.jobs.create",
    "cloudscheduler.jobs.get",
    "cloudscheduler.jobs.update",
    "cloudscheduler.jobs.delete",
    "cloudscheduler.jobs.enable",
  ],
  "roles/secretmanager.admin": [
    "secretmanager.secrets.create",
    "secretmanager.secrets.get",
    "secretmanager.secrets.list",
    "secretmanager.secrets.update",
    "secretmanager.secrets.getIamPolicy",
    "secretmanager.secrets.setIamPolicy",
    "secretmanager.versions.add",
    "secretmanager.versions.access",
    "secretmanager.versions.list",
    "secretmanager.versions.destroy",
  ],
  "roles/logging.viewer": ["logging.logEntries.list"],
  "roles/logging.logWriter": ["logging.logEntries.create"],
  "roles/monitoring.viewer": ["monitoring.timeSeries.list"],
  "roles/iam.serviceAccountAdmin": [
    "iam.serviceAccounts.create",
    "iam.serviceAccounts.get",
    "iam.serviceAccounts.list",
  ],
  "roles/iam.serviceAccountUser": ["iam.serviceAccounts.actAs"],
};

export const sqlRoles: Readonly<Record<string, readonly string[]>> = {
  "roles/bigquery.jobUser": ["bigquery.jobs.create"],
  "roles/bigquery.dataViewer": ["bigquery.tables.getData"],
};
