/**
 * Adverse behaviour of Google Cloud that its documentation or bug reports describe. Each behaviour is a switch of
 * the fakes, off by default. Delays run on the clock that the fakes share with the provider.
 */

/** Each behaviour, with its source. */
export const adverseBehaviors = {
  /**
   * terraform-provider-google, resource_google_service_account.go: "IAM API returns 403 when the queried SA is not
   * found".
   */
  absent_identity_forbidden: "IAM returns 403 for a service account that does not exist",
  /**
   * https://cloud.google.com/iam/docs/service-accounts-create: "You might need to wait for 60 seconds or more";
   * https://github.com/hashicorp/terraform-provider-google/issues/19624 reports reads that flap;
   * https://github.com/GoogleCloudPlatform/cloud-run-mcp/pull/91 reports the rejections by Cloud Run.
   */
  identity_late: "reads of a new service account flap, and nothing may run as it, for two minutes",
  /**
   * https://cloud.google.com/iam/docs/access-change-propagation: "typically 2 minutes, potentially 7 minutes or
   * longer".
   */
  grant_late: "a grant on a bucket takes effect after two minutes; until then mounts of the bucket fail",
  /** https://docs.cloud.google.com/secret-manager/docs/reference/consistency: "typically converge within minutes". */
  secret_late: "the policy of a new secret is not found for a minute",
  /**
   * The access-change-propagation page, for `allUsers`. The response until then:
   * https://cloud.google.com/run/docs/troubleshooting#unauthorized-client
   */
  public_access_late: "public access to a service takes effect after two minutes; until then Google responds with 403",
  /**
   * run.v2's discovery document allows a period of 240 s.
   * https://docs.cloud.google.com/run/docs/configuring/healthchecks allows 600 s for the product of the period and the
   * failure threshold. Users report a limit of 240 s for this product.
   */
  probe_product_240: "a startup probe may take at most 240 s",
  /**
   * service.proto, `reconciling`: after a failure it has "the state of the last serving revision, or empty for newly
   * created Services".
   */
  failure_stays_unobserved: "after a failed rollout, observedGeneration is that of the last serving state",
  /**
   * The same comment: meanwhile `traffic_statuses` and `uri` "will have transient values that might mismatch the
   * intended state".
   */
  empty_while_reconciling: "trafficStatuses and uri are empty while a service reconciles",
  /**
   * https://docs.cloud.google.com/run/quotas: "Write requests per minute per region". New projects have 60.
   */
  run_write_quota: "60 Cloud Run writes per minute",
  /** https://cloud.google.com/logging/quotas: "entries.list requests: 60 per minute, per project". */
  log_read_quota: "60 log reads per minute",
  /**
   * https://docs.cloud.google.com/resource-manager/docs/organization-policy/domain-restricted-sharing: enforced in new
   * organizations.
   */
  all_users_forbidden: "a policy of the organization forbids allUsers",
  /** https://docs.cloud.google.com/run/docs/authenticating/public: constraint run.managed.requireInvokerIam. */
  invoker_check_required: "a policy of the organization forbids disabling the Invoker IAM check",
  /**
   * https://docs.cloud.google.com/build/docs/locations#restricted_regions_for_some_projects;
   * https://github.com/google-github-actions/deploy-cloudrun/issues/480 has the text.
   */
  build_regions_restricted: "Cloud Build runs builds in six regions only",
  /** https://github.com/google-github-actions/setup-gcloud/issues/658: `RUN --mount` on Cloud Build. */
  docker_without_buildkit: "Docker on Cloud Build uses BuildKit only if DOCKER_BUILDKIT is 1",
  /** https://github.com/googleapis/mcp-toolbox/issues/2315: a dry run lists the tables behind views, not the views. */
  tables_behind_views: "a dry run lists the tables behind the linked dataset's view, not the view",
} as const;

export type AdverseBehavior = keyof typeof adverseBehaviors;
export type AdverseBehaviors = ReadonlySet<AdverseBehavior>;

export const noneAdverse: AdverseBehaviors = new Set();

/** Every behaviour but one: with both policies, no service can be public at all. */
export const allAdverse: AdverseBehaviors = new Set(
  (Object.keys(adverseBehaviors) as AdverseBehavior[]).filter((name) => name !== "invoker_check_required"),
);

/** How long changes of IAM take in the fakes, in milliseconds. */
export const PROPAGATION_MS = 120_000;
/** How long a new secret has no policy with `secret_late`, in milliseconds. */
export const SECRET_LATE_MS = 60_000;
