/**
 * Reads Service Quotas with the signer of the STS client, so that `portside doctor` needs no other package.
 * https://docs.aws.amazon.com/servicequotas/2019-06-24/apireference/Welcome.html (protocol: AWS JSON 1.1)
 */
import { text } from "node:stream/consumers";
import type { ServiceQuota } from "./ceilings.ts";
import type { ClientSource } from "./clients.ts";

/** The action that lists a service's quotas: the account's own, or AWS's defaults. */
type ListAction = "ListServiceQuotas" | "ListAWSDefaultServiceQuotas";

export interface QuotaSource {
  readonly region: string;
  readonly clients: ClientSource;
  readonly environment: NodeJS.ProcessEnv;
}

/**
 * https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html, .../general/latest/gr/servicequotas.html
 */
const endpointOf = ({ region, environment }: QuotaSource): URL => {
  const suffix = region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
  const configured = environment["AWS_ENDPOINT_URL_SERVICE_QUOTAS"] ?? environment["AWS_ENDPOINT_URL"];
  return new URL(configured ?? `https://servicequotas.${region}.${suffix}`);
};

/** Sends a request. If it fails, throws an error with the name and message of the service's exception. */
const post = async (action: ListAction, input: object, source: QuotaSource): Promise<Record<string, unknown>> => {
  const { config } = await source.clients("sts");
  const { protocol, host, hostname, port } = endpointOf(source);
  const request = {
    method: "POST",
    protocol,
    hostname,
    ...(port === "" ? {} : { port: Number(port) }),
    path: "/",
    query: {},
    headers: {
      host,
      "content-type": "application/x-amz-json-1.1",
      "x-amz-target": `ServiceQuotasV20190624.${action}`,
    },
    body: JSON.stringify(input),
  };
  const signer = await config.signer();
  const signed = await signer.sign(request, { signingService: "servicequotas", signingRegion: source.region });
  const { response } = await config.requestHandler.handle(signed as Parameters<typeof config.requestHandler.handle>[0]);
  const body = JSON.parse((await text(response.body)) || "{}") as Record<string, unknown>;
  if (response.statusCode < 300) return body;
  const name = String(body["__type"] ?? response.statusCode).replace(/^.*#/, "");
  throw Object.assign(new Error(String(body["message"] ?? body["Message"] ?? "Service Quotas failed")), { name });
};

const listAll = async (action: ListAction, service: string, source: QuotaSource): Promise<ServiceQuota[]> => {
  const all: ServiceQuota[] = [];
  for (let token: unknown; ; ) {
    const page = await post(action, { ServiceCode: service, MaxResults: 100, NextToken: token }, source);
    all.push(...((page["Quotas"] ?? []) as ServiceQuota[]));
    token = page["NextToken"] ?? undefined;
    if (token === undefined) return all;
  }
};

/**
 * Returns the quotas of a service: first the account's own, then AWS's defaults. A quota that was never changed appears
 * only among the defaults. On failure, throws an error with the name of the service's exception.
 */
export const listQuotas = async (service: string, source: QuotaSource): Promise<readonly ServiceQuota[]> => [
  ...(await listAll("ListServiceQuotas", service, source)),
  ...(await listAll("ListAWSDefaultServiceQuotas", service, source)),
];
