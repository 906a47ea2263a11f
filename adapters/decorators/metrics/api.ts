/** Requests to the API. */
import { Histogram, type Registry } from "prom-client";

export interface ApiRequest {
  readonly method: string;
  /** The endpoint's path as it is documented, so that names in it make no series of their own; undefined: there is none. */
  readonly route: string | undefined;
  readonly status: number;
  readonly seconds: number;
}

export const apiFigures = (registry: Registry): ((request: ApiRequest) => void) => {
  const requests = new Histogram({
    name: "portside_api_request_seconds",
    help: "Requests to the API, by endpoint and status, and how long each took to its last byte.",
    labelNames: ["method", "route", "status"],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60, 600],
    registers: [registry],
  });
  return ({ method, route = "none", status, seconds }) => {
    // Anybody can send a method of any name.
    const known = route === "none" ? "any" : method;
    requests.observe({ method: known, route, status: String(status) }, seconds);
  };
};
