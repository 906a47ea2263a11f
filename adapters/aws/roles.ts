/** Roles that services run as: one for each account of ours, and which role may not be used. Pure. */
import type { AccountId } from "../../core/domain/account.ts";
import { type ArnParts, bucketArn, roleArn } from "./arns.ts";
import type { AwsConfig } from "./config.ts";
import { ownerDigits } from "./owner-digits.ts";
import { bucketPrefix } from "./storage/names.ts";

/** A role's name has up to 64 characters. */
export const runtimeRole = (digits: string): string => `portside-${digits}`;

export const runtimeRoleOf = (owner: AccountId): string => runtimeRole(ownerDigits(owner));

export const runtimeRoleArn = (arn: ArnParts, digits: string): string => roleArn(arn, runtimeRole(digits));

/**
 * Tasks of this AWS account may run as it, and nothing else may take it.
 * https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-iam-roles.html
 */
export const trustPolicy = ({ partition, account }: ArnParts, { region }: Pick<AwsConfig, "region">): object => ({
  Version: "2012-10-17",
  Statement: [
    {
      Effect: "Allow",
      Principal: { Service: "ecs-tasks.amazonaws.com" },
      Action: "sts:AssumeRole",
      Condition: {
        StringEquals: { "aws:SourceAccount": account },
        ArnLike: { "aws:SourceArn": `arn:${partition}:ecs:${region}:${account}:*` },
      },
    },
  ],
});

/**
 * To read objects where they are, which S3 Files does for speed
 * (https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-files-prereq-policies.html#s3-files-prereq-iam-compute-role).
 * It goes by how the account's buckets are called, so that it need not change with its volumes. Who may mount and write
 * is said by each file system's own policy.
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
