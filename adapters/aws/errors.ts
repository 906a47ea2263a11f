/**
 * Turns AWS errors into Portside's error kinds: `busy`, `refused`, or a `state` of the resource (`CallFault`). The
 * exception's name decides; if the name is unknown, the HTTP status decides. `deploy/ecs-faults.ts` adds the names of
 * ECS and of the load balancer, and passes all other errors to `awsFault`.
 */
import {
  busy,
  type CallFault,
  connectionErrors,
  refused,
  stateFault as state,
  withRetryAfter,
} from "../cloud/calls/faults.ts";

interface AwsFailure {
  readonly name: string;
  readonly code?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly $response?: { readonly headers?: Readonly<Record<string, string>> };
}

const of = (fault: CallFault, ...names: readonly string[]): [string, CallFault][] => names.map((name) => [name, fault]);

/** Throttling codes, which differ by service. Source: the SDK's package @smithy/service-error-classification. */
const throttles: readonly string[] = [
  "ThrottlingException",
  "Throttling",
  "ThrottledException",
  "RequestThrottled",
  "SlowDown",
  "RequestThrottledException",
  "TooManyRequestsException",
  "RequestLimitExceeded",
  "BandwidthLimitExceeded",
  // CodeBuild: the account has reached its limit of concurrent builds.
  "AccountLimitExceededException",
];

export const isThrottled = (error: unknown): boolean =>
  error instanceof Error &&
  (throttles.includes(error.name) ||
    (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode === 429);

/**
 * Codes of single services, and the common codes:
 * https://docs.aws.amazon.com/AWSEC2/latest/APIReference/CommonErrors.html
 */
const byName: ReadonlyMap<string, CallFault> = new Map([
  ...of(busy, ...throttles),
  ...of(busy, "PriorRequestNotComplete", "OperationAbortedException", "OperationAborted", "ServiceUnavailable"),
  ...of(busy, "InternalServerException", "ServerException", "InternalFailure", "TimeoutError", "RequestTimeout"),
  // "If a conflicting operation occurs during the upload": S3 has not decided which write wins (PutObjectRequest,
  // IfNoneMatch).
  ...of(busy, "RequestTimeoutException", "ConditionalRequestConflict"),
  // The caller aborted: no retry, and the call fails as unavailable.
  ...of(busy, "AbortError"),
  ...of(refused, "AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "UnrecognizedClientException"),
  ...of(refused, "ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "InvalidAccessKeyId"),
  ...of(refused, "SignatureDoesNotMatch", "InvalidSignatureException", "IncompleteSignature", "OptInRequired"),
  ...of(refused, "MissingAuthenticationToken", "CredentialsProviderError", "InvalidToken", "RequestExpired"),
  ...of(
    state("not_found"),
    "ResourceNotFoundException",
    "RepositoryNotFoundException",
    "ImageNotFoundException",
    "NoSuchEntityException",
    "NoSuchBucket",
    "NoSuchKey",
    "NotFound",
  ),
  ...of(state("exists"), "ResourceAlreadyExistsException", "EntityAlreadyExistsException", "BucketAlreadyOwnedByYou"),
  ...of(state("exists"), "BucketAlreadyExists", "AlreadyExistsException", "ResourceExistsException"),
  ...of(state("changed"), "ConflictException", "PreconditionFailed"),
  ...of(state("changed"), "ConcurrentModificationException", "ConcurrentModification", "ConcurrentUpdateException"),
  ...of(
    state("invalid"),
    "ValidationException",
    "InvalidParameterException",
    "InvalidRequestException",
    "ClientException",
  ),
  ...of(state("invalid"), "InvalidInputException", "MalformedPolicyDocumentException", "ValidationError"),
]);

const byStatus = (status: number): CallFault | undefined => {
  if (status === 404) return state("not_found");
  if (status === 409 || status === 412) return state("changed");
  if (status === 401 || status === 403) return refused;
  if (status === 429 || status >= 500) return busy;
  return status >= 400 ? state("invalid") : undefined;
};

/** Returns undefined for an error that is not from AWS. Such an error is a bug. */
export const awsFault = (error: unknown): CallFault | undefined => {
  if (!(error instanceof Error)) return undefined;
  const { name, code, $metadata, $response } = error as AwsFailure;
  if (code !== undefined && connectionErrors.includes(code)) return busy;
  const fault = byName.get(name) ?? byStatus($metadata?.httpStatusCode ?? 0);
  return withRetryAfter(fault, $response?.headers?.["retry-after"]);
};
