/**
 * A fake S3 on a loopback port, for the official client and for signed URLs. Written only from the service model and
 * the documentation; the record of assumptions lists what they leave open.
 */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { S3Client, type S3ClientConfig } from "@aws-sdk/client-s3";
import { millisOf } from "../../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../../core/ports/system.ts";
import { MountedFolders } from "../../engine/mounted-folders.ts";
import { Faults } from "../../faults.ts";
import { recorded } from "../requests/recorder.ts";
import { type AwsMethod, type AwsReply, type AwsRequest, type AwsService, serveAws } from "../server.ts";
import { checkSignature, type FakeCredentials } from "../signature.ts";
import { unframed } from "./aws-chunked.ts";
import { bucketCallOf } from "./bucket-calls.ts";
import { preflight, withCors } from "./cors.ts";
import { failure, injected, xmlFailed } from "./failure.ts";
import { objectCallOf } from "./object-calls.ts";
import { checkPolicy } from "./policy.ts";
import { type FakeBucket, S3World } from "./world.ts";

export interface FakeS3Options {
  readonly region?: string;
  /** The fake's clock; defaults to the machine's. */
  readonly clock?: Pick<Clock, "now">;
  readonly faults?: Faults;
  /** The folder for buckets that are local folders; defaults to a temporary one. */
  readonly folder?: string;
  /** Buckets that exist from the start. */
  readonly buckets?: readonly string[];
}

export interface FakeS3 {
  readonly url: string;
  readonly clientConfig: S3ClientConfig;
  readonly client: S3Client;
  readonly world: S3World;
  readonly faults: Faults;
  /** Credentials that requests may be signed with; tests may add temporary ones. */
  readonly credentials: FakeCredentials[];
  /** Runs `act` once, right before the next call of the method, to simulate another client. */
  meanwhile(method: string, act: () => void): void;
  /** Makes the bucket a local folder from now on. Throws if the bucket does not exist. */
  folderOf(bucket: string): string;
  close(): Promise<void>;
}

/** The principal of the credentials. */
const PRINCIPAL = "arn:aws:iam::123456789012:role/platform";

const placeOf = (path: string): readonly [string, string] => {
  const [, bucket = "", key = ""] = /^\/([^/]*)\/?(.*)$/s.exec(path) ?? [];
  return [decodeURIComponent(bucket), decodeURIComponent(key)];
};

export const startFakeS3 = async (options: FakeS3Options = {}): Promise<FakeS3> => {
  const { region = "eu-west-1", clock, faults = new Faults(), buckets = [] } = options;
  const { folder = mkdtempSync(join(tmpdir(), "portside-s3-")) } = options;
  const world = new S3World(clock === undefined ? Date.now : () => millisOf(clock.now()));
  for (const name of buckets) world.createBucket(name, {}, "BucketOwnerEnforced");
  const folders = new MountedFolders<FakeBucket>(world, folder);
  const others = new Map<string, () => void>();
  const credentials: FakeCredentials[] = [{ accessKeyId: "AKIAFAKE", secretAccessKey: "secret" }];
  const rules = { region, service: "s3", now: world.now, credentials: () => credentials };

  const actOf = (received: AwsRequest): AwsMethod => {
    const request = unframed(received);
    const [bucket, key] = placeOf(request.path);
    const object = objectCallOf(request, key);
    if (object !== undefined)
      return {
        method: `s3.${object.method}`,
        act: () => {
          const found = world.bucket(bucket);
          const arn = `arn:aws:s3:::${bucket}`;
          checkPolicy(found.policy, PRINCIPAL, object.action, key === "" ? arn : `${arn}/${key}`);
          return object.act({ world, request, bucket: found, key });
        },
      };
    const about = key === "" ? bucketCallOf(request, bucket) : undefined;
    const refuse = () => {
      throw failure(405, "MethodNotAllowed", "The specified method is not allowed against this resource.");
    };
    if (about === undefined) return { method: "s3.Unknown", act: refuse };
    const [name, act] = about;
    return { method: `s3.${name}`, act: () => act({ world, request, bucket, region }) };
  };

  /** Lets pages read a reply if the bucket's CORS rules permit it. */
  const readable = (request: AwsRequest, reply: AwsReply): AwsReply =>
    withCors(world.live.get(placeOf(request.path)[0]), request, reply);

  const route = (request: AwsRequest): AwsMethod => {
    if (request.verb === "OPTIONS")
      return { method: "s3.Preflight", act: () => preflight(world.bucket(placeOf(request.path)[0]), request) };
    const found = actOf(request);
    const [bucket] = placeOf(request.path);
    const act = async () => {
      checkSignature(request, rules);
      const other = others.get(found.method);
      others.delete(found.method);
      other?.();
      folders.pull(bucket);
      const reply = await found.act();
      folders.push(bucket);
      return readable(request, reply);
    };
    return { method: found.method, act };
  };

  const failed: AwsService["failed"] = (error, request) => readable(request, xmlFailed(error));
  const server = await serveAws(faults, { route, injected, failed });
  const [own] = credentials;
  const clientConfig: S3ClientConfig = {
    endpoint: server.endpoint,
    region,
    forcePathStyle: true,
    maxAttempts: 1,
    credentials: own as FakeCredentials,
  };
  const client = recorded("s3", new S3Client(clientConfig));
  return {
    url: server.endpoint,
    clientConfig,
    client,
    world,
    faults,
    credentials,
    meanwhile: (method, act) => void others.set(method, act),
    folderOf: (bucket) => folders.folderOf(bucket),
    close: async () => {
      client.destroy();
      await server.close();
      folders.close();
    },
  };
};
