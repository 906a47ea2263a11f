/**
 * Evaluates the denials of a bucket policy:
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html.
 */
import { failure } from "./failure.ts";

interface Statement {
  readonly Effect: "Allow" | "Deny";
  readonly Principal: unknown;
  readonly Action: string | readonly string[];
  readonly Resource: string | readonly string[];
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>;
}

export interface BucketPolicy {
  readonly Version: string;
  readonly Statement: readonly Statement[];
}

const listOf = (value: string | readonly string[] | undefined): readonly string[] => [value ?? []].flat();

/** `*` matches any text, `?` any character. */
export const matches = (pattern: string, text: string): boolean => {
  const escaped = pattern.replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`);
  return new RegExp(`^${escaped.replaceAll("*", ".*").replaceAll("?", ".")}$`, "s").test(text);
};

/** Throws if the policy is malformed: API/API_PutBucketPolicy.html (`MalformedPolicy`). */
export const parsePolicy = (text: string, bucket: string): BucketPolicy => {
  const malformed = (why: string) => failure(400, "MalformedPolicy", why);
  let policy: BucketPolicy;
  try {
    policy = JSON.parse(text) as BucketPolicy;
  } catch {
    throw malformed("Policies must be valid JSON and the first byte must be '{'");
  }
  if (policy.Version !== "2012-10-17" || !Array.isArray(policy.Statement)) throw malformed("Missing required field");
  for (const one of policy.Statement) {
    if (one.Principal === undefined) throw malformed("Missing required field Principal");
    const foreign = listOf(one.Resource).find((arn) => !arn.startsWith(`arn:aws:s3:::${bucket}`));
    if (foreign !== undefined) throw malformed("Policy has invalid resource");
    for (const operator of Object.keys(one.Condition ?? {}))
      if (!["ArnNotEquals", "StringNotEquals"].includes(operator))
        throw malformed(`the fake does not know ${operator}`);
  }
  return policy;
};

const applies = (statement: Statement, principal: string, action: string, resource: string): boolean =>
  statement.Effect === "Deny" &&
  listOf(statement.Action).some((pattern) => matches(pattern, action)) &&
  listOf(statement.Resource).some((pattern) => matches(pattern, resource)) &&
  Object.values(statement.Condition ?? {}).every((condition) =>
    listOf(condition["aws:PrincipalArn"]).every((arn) => arn !== principal),
  );

/** Throws if the policy denies the action. */
export const checkPolicy = (
  policy: BucketPolicy | undefined,
  principal: string,
  action: string,
  resource: string,
): void => {
  if (policy?.Statement.some((one) => applies(one, principal, action, resource)) === true)
    throw failure(403, "AccessDenied", `${principal} is not authorized to perform ${action}: an explicit deny.`);
};
