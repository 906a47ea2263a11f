/**
 * Amazon Resource Names: `arn:PARTITION:SERVICE:REGION:ACCOUNT:RESOURCE`.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html
 */

export interface ArnParts {
  /** `aws`, or the partition of the China or GovCloud regions. */
  readonly partition: string;
  readonly account: string;
}

export const arnParts = (arn: string): ArnParts => {
  const [, partition = "aws", , , account = ""] = arn.split(":");
  return { partition, account };
};

export const bucketArn = ({ partition }: ArnParts, bucket: string): string => `arn:${partition}:s3:::${bucket}`;

export const roleArn = ({ partition, account }: ArnParts, role: string): string =>
  `arn:${partition}:iam::${account}:role/${role}`;
