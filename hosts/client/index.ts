/**
 * `portside/client`: a typed client of the HTTP API for browsers and for Node. It needs only web APIs such as `fetch`,
 * and has one method per endpoint.
 */
export { type Client, createClient, type RequestOptions } from "./client.ts";
export { ApiError, ConnectionError, type ErrorCode, type FieldIssue, PortsideError } from "./errors.ts";
export type { Source } from "./form.ts";
export type { ClientOptions } from "./transport.ts";
