/** The IAM roles of Portside accounts: one for an account's services, and one with which ECS starts them. Pure. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { OWNER_LABEL } from "../../cloud/deploy/labels.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import { type ArnParts, bucketArn, roleArn } from "../arns.ts";
import type { AwsConfig } from "../config.ts";
import { installationDigits, ownSecretArns, type SecretsConfig } from "../secrets/names.ts";
import { bucketPrefix } from "../volumes/names.ts";
import { ownerDigits } from "./owner-digits.ts";

const allowEcs = (condition: object): object => ({
  Version: "2012-10-17",
  Statement: [
    {
      Effect: "Allow",
      Principal: { Service: "ecs-tasks.amazonaws.com" },
      Action: "sts:AssumeRole",
      Condition: condition,
    },
  ],
});

/** IAM limits a role's name to 64 characters. */
export const runtimeRole = (digits: string): string => `portside-${digits}`;

export const runtimeRoleOf = (owner: AccountId): string => runtimeRole(ownerDigits(owner));

export const runtimeRoleArn = (arn: ArnParts, digits: string): string => roleArn(arn, runtimeRole(digits));

/**
 * Allows only ECS tasks of this AWS account to assume the role.
 * https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-iam-roles.html
 */
export const trustPolicy = ({ partition, account }: ArnParts, { region }: Pick<AwsConfig, "region">): object =>
  allowEcs({
    StringEquals: { "aws:SourceAccount": account },
    ArnLike: { "aws:SourceArn": `arn:${partition}:ecs:${region}:${account}:*` },
  });

/**
 * Allows mounts to read objects directly from S3, which is faster
 * (https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-files-prereq-policies.html#s3-files-prereq-iam-compute-role).
 * The policy matches the prefix of the account's bucket names, so it stays the same when volumes change. Each file
 * system's own policy decides who may mount and write.
 */
export const bucketsPolicy = (arn: ArnParts, owner: AccountId): object => {
  const buckets = bucketArn(arn, `${bucketPrefix(ownerDigits(owner))}*`);
  return {
    Version: "2012-10-17",
    Statement: [
      { Sid: "OwnVolumes", Effect: "Allow", Action: ["s3:ListBucket"], Resource: buckets },
      {
        Sid: "OwnObjects",
        Effect: "Allow",
        Action: ["s3:GetObject", "s3:GetObjectVersion"],
        Resource: `${buckets}/*`,
      },
    ],
  };
};

/**
 * The role that ECS uses to start an account's services with secrets. Its policy names the installation's resources, so
 * each installation in an AWS account has its own roles.
 */
export const executionRoleOf = (config: Pick<AwsConfig, "shared">, owner: AccountId): string =>
  `portside-execution-${installationDigits(config)}-${ownerDigits(owner)}`;

/** Omits the condition `aws:SourceArn` of `trustPolicy`, because AWS documents it only for task roles. */
export const executionTrustPolicy = ({ account }: ArnParts): object =>
  allowEcs({ StringEquals: { "aws:SourceAccount": account } });

/**
 * Grants ECS the permissions of the shared execution role, and read access to the account's own secrets:
 * https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task_execution_IAM_role.html. The names of the secrets
 * contain part of the account's digest, and their tag contains all of it. Services cannot use this role: its
 * credentials "aren't directly accessible by the containers in the task". Condition key:
 * https://docs.aws.amazon.com/secretsmanager/latest/userguide/auth-and-access-abac.html
 */
export const executionPolicy = (arn: ArnParts, config: SecretsConfig, owner: AccountId): object => {
  const { partition, account } = arn;
  const { region, shared } = config;
  return {
    Version: "2012-10-17",
    Statement: [
      { Sid: "Registry", Effect: "Allow", Action: ["ecr:GetAuthorizationToken"], Resource: "*" },
      {
        Sid: "Images",
        Effect: "Allow",
        Action: ["ecr:BatchCheckLayerAvailability", "ecr:GetDownloadUrlForLayer", "ecr:BatchGetImage"],
        Resource: `arn:${partition}:ecr:${region}:${account}:repository/${shared.repository}`,
      },
      {
        Sid: "Logs",
        Effect: "Allow",
        Action: ["logs:CreateLogStream", "logs:PutLogEvents"],
        Resource: `arn:${partition}:logs:${region}:${account}:log-group:${shared.logGroup}:*`,
      },
      {
        Sid: "OwnSecrets",
        Effect: "Allow",
        Action: ["secretsmanager:GetSecretValue"],
        Resource: ownSecretArns(config, arn, owner),
        Condition: { StringEquals: { [`secretsmanager:ResourceTag/${OWNER_LABEL}`]: accountDigest(owner) } },
      },
    ],
  };
};
