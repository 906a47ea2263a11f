/**
 * Fake of Service Quotas: the quotas applied to an account, and the defaults of AWS.
 * https://docs.aws.amazon.com/servicequotas/2019-06-24/apireference/Welcome.html
 */
import type { ServiceQuota } from "../../../adapters/aws/ceilings.ts";
import { jsonProtocol, type Message } from "./protocols.ts";
import { recordCommand } from "./requests/recorder.ts";
import { AwsError, type AwsService } from "./server.ts";

export interface FakeQuotas {
  /** By service. Service Quotas lists a quota without an applied value only among the defaults. */
  readonly applied: Map<string, ServiceQuota[]>;
  readonly defaults: Map<string, ServiceQuota[]>;
  mayList: boolean;
  readonly service: AwsService;
}

const quota = (QuotaCode: string, QuotaName: string, Value: number, Adjustable: boolean): ServiceQuota => {
  return { QuotaCode, QuotaName, Value, Adjustable };
};

/** Quotas in a page. */
const PAGE = 2;

/** AWS's defaults in eu-west-1. They include one quota of each service that Portside does not need. */
export const fakeQuotas = (): FakeQuotas => {
  const list = (action: string, from: Map<string, ServiceQuota[]>) => (input: Message) => {
    recordCommand("quotas", action, input);
    if (!quotas.mayList)
      throw new AwsError("AccessDeniedException", "User is not authorized to perform: servicequotas:ListServiceQuotas");
    const all = from.get(input.ServiceCode) ?? [];
    const start = Number(input.NextToken ?? 0);
    const isMore = start + PAGE < all.length;
    return { Quotas: all.slice(start, start + PAGE), ...(isMore ? { NextToken: String(start + PAGE) } : {}) };
  };
  const applied = new Map<string, ServiceQuota[]>();
  const defaults = new Map([
    [
      "fargate",
      [
        quota("L-36FBB829", "Fargate Spot vCPU resource count", 6, true),
        quota("L-3032A538", "Fargate On-Demand vCPU resource count", 6, true),
      ],
    ],
    [
      "elasticloadbalancing",
      [
        quota("L-B22855CB", "Target Groups per Region", 3000, true),
        quota("L-7EED9B64", "Rules per Application Load Balancer", 100, true),
        quota("L-822D1B1B", "Target Groups per Application Load Balancer", 100, false),
      ],
    ],
    [
      "codebuild",
      [
        quota("L-9D07B6EF", "Concurrently running builds for Linux/Small environment", 1, true),
        quota("L-2DC20C30", "Concurrently running builds for Linux/Medium environment", 1, true),
      ],
    ],
    ["lambda", [quota("L-B99A9384", "Concurrent executions", 1000, true)]],
    ["logs", [quota("L-00000000", "FilterLogEvents throttle limit in transactions per second", 10, false)]],
  ]);
  const quotas: FakeQuotas = {
    applied,
    defaults,
    mayList: true,
    service: jsonProtocol(
      {
        ListServiceQuotas: list("ListServiceQuotas", applied),
        ListAWSDefaultServiceQuotas: list("ListAWSDefaultServiceQuotas", defaults),
      },
      { service: "ServiceQuotasV20190624" },
    ),
  };
  return quotas;
};
