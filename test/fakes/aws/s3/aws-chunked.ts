/**
 * Decodes bodies that clients send in chunks with a trailing checksum, as they do for streams.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming-trailers.html
 */
import { AwsError, type AwsRequest } from "../server.ts";

const CRLF = "\r\n";

const bad = (message: string): AwsError => new AwsError("IncompleteBody", message);

/** The chunks without framing: `SIZE[;chunk-signature=...]CRLF BYTES CRLF`, an empty last chunk, then trailers. */
const joined = (body: Buffer): Buffer => {
  const pieces: Buffer[] = [];
  for (let at = 0; ; ) {
    const end = body.indexOf(CRLF, at);
    const size = end < 0 ? Number.NaN : Number.parseInt(body.subarray(at, end).toString("latin1"), 16);
    if (Number.isNaN(size)) throw bad("The body is not framed as its encoding says.");
    if (size === 0) return Buffer.concat(pieces);
    pieces.push(body.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
};

/** The request with its body decoded. */
export const unframed = (request: AwsRequest): AwsRequest => {
  const { "content-encoding": encoding = "", "x-amz-decoded-content-length": length, ...headers } = request.headers;
  const encodings = encoding.split(",").map((one) => one.trim());
  if (!encodings.includes("aws-chunked")) return request;
  const body = joined(request.body);
  if (length === undefined)
    throw new AwsError("MissingContentLength", "You must say how long the decoded body is.", 411);
  if (Number(length) !== body.length) throw bad("The body is not as long as its decoded length says.");
  const rest = encodings.filter((one) => one !== "aws-chunked").join(",");
  return {
    ...request,
    body,
    headers: { ...headers, "content-length": length, ...(rest === "" ? {} : { "content-encoding": rest }) },
  };
};
