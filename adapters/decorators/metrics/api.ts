/** Metrics of requests to the API. */
import { Histogram, type Registry } from "prom-client";

/** A request to the API, after its response. */
export interface ApiRequest {
  readonly method: string;
  /**
   * The endpoint's path with placeholders, as in the API reference, because a path with actual names would create a
   * time series for each name. Undefined for an unknown path.
   */
  readonly route: string | undefined;
  readonly status: number;
  readonly seconds: number;
}

export const apiMetrics = (registry: Registry): ((request: ApiRequest) => void) => {
  const requests = new Histogram({
    name: "portside_api_request_seconds",
    help: "Duration of requests to the API until the last byte, by endpoint and status.",
    labelNames: ["method", "route", "status"],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60, 600],
    registers: [registry],
  });
  return ({ method, route = "none", status, seconds }) => {
    // For an unknown path, clients may send any method name, and each name would create a time series.
    const known = route === "none" ? "any" : method;
    requests.observe({ method: known, route, status: String(status) }, seconds);
  };
};
