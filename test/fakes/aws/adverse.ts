/**
 * Adverse behaviour of AWS that its documentation or bug reports describe. Each behaviour is a switch of the fakes,
 * off by default. Delays run on the clock that the fakes share with the provider.
 */

/** Each behaviour, with its source. */
export const adverseBehaviors = {
  /**
   * https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/2734: "This target group appears behind a
   * rule with group stickiness disabled ... You must enable group stickiness before enabling target stickiness".
   */
  sticky_groups_refused: "a rule with several groups, one of them sticky, must enable group stickiness",
  /**
   * https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-troubleshooting.html, HTTP 464:
   * "the request protocol is an HTTP/1.1, while the target group protocol version is a gRPC or HTTP/2".
   */
  http1_refused: "an HTTP2 target group answers HTTP/1.1 requests with 464",
  /**
   * https://docs.aws.amazon.com/elasticloadbalancing/latest/application/edit-target-group-attributes.html: "the status
   * of the target is displayed as draining until the deregistration delay timeout expires".
   */
  draining_shown: "a target shows as draining for the whole deregistration delay",
  /**
   * https://github.com/terraform-aws-modules/terraform-aws-ecs/issues/414: AccessDeniedException for iam:PassRole on
   * "the role the same apply just created".
   */
  role_late: "a new role cannot be passed to ECS for 30 seconds",
  /**
   * https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot.html: "Changes that I make are not always immediately
   * visible", including changes of role policies.
   */
  secret_role_late: "ECS cannot read secrets with a new role for 60 seconds",
  /**
   * https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/cloudwatch_limits_cwl.html, "FilterLogEvents throttle
   * limit in transactions per second": 5 in five regions, 25 in us-east-1, 10 elsewhere, for an account and region; not
   * adjustable.
   */
  log_read_quota: "5 log reads a second",
  /**
   * https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-files-file-system-policies-creating.html: "policy changes
   * can take several minutes to take effect". The text of a refused mount is that of EFS:
   * https://github.com/aws-samples/aws-cdk-examples/issues/920.
   */
  file_policy_late: "a file system refuses mounts for 3 minutes after a change of its policy",
  /**
   * https://github.com/aws-cloudformation/cloudformation-coverage-roadmap/issues/818: "Unable to assume the service
   * linked role. Please verify that the ECS service linked role exists."
   */
  linked_role_late: "ECS cannot assume its service-linked role for 30 seconds after the first service",
  /**
   * https://docs.aws.amazon.com/acm/latest/APIReference/API_RequestCertificate.html: "there is a delay of several
   * seconds before you can retrieve information about the new certificate".
   */
  certificate_late: "a new certificate has no CNAME record for two seconds",
  /**
   * https://github.com/hashicorp/terraform-provider-aws/issues/3866: "the certificate is still seen as in use by a load
   * balancer that was just deleted".
   */
  certificate_in_use: "a certificate counts as used for a minute after its removal from a listener",
  /** The pages in `call-rates.ts`. */
  call_rates: "ECS and the load balancer throttle calls beyond their documented rates",
} as const;

export type AdverseBehavior = keyof typeof adverseBehaviors;
export type AdverseBehaviors = ReadonlySet<AdverseBehavior>;

export const noneAdverse: AdverseBehaviors = new Set();

export const allAdverse: AdverseBehaviors = new Set(Object.keys(adverseBehaviors) as AdverseBehavior[]);

/** How long a new role cannot be passed, in milliseconds. */
export const ROLE_LATE_MS = 30_000;

/** How long a new role cannot read secrets, in milliseconds. */
export const SECRET_ROLE_LATE_MS = 60_000;

/** How long a new certificate has no CNAME record, in milliseconds. */
export const CERTIFICATE_LATE_MS = 2000;

/** How long a removed certificate counts as used, in milliseconds. */
export const CERTIFICATE_IN_USE_MS = 60_000;

/** The quota of FilterLogEvents in the regions with the lowest one. */
export const LOG_READS_PER_SECOND = 5;

/** How long a file system refuses mounts after a change of its policy, in milliseconds. */
export const FILE_POLICY_LATE_MS = 180_000;

/**
 * Returns whether ECS can assume its service-linked role, given the time in milliseconds. The first call creates the
 * role.
 */
export const linkedRole = (adverse: AdverseBehaviors, now: () => number): (() => boolean) => {
  let since: number | undefined;
  return () => {
    since ??= now();
    return !adverse.has("linked_role_late") || now() - since >= ROLE_LATE_MS;
  };
};
