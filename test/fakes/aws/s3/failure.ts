/** S3's error format: https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html. */
import { AwsError, type AwsReply, type InjectedErrors } from "../server.ts";
import { printXml, type XmlContent } from "../xml.ts";

export const failure = (status: number, code: string, message: string): AwsError => new AwsError(code, message, status);

const HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n';

export const xmlReply = (name: string, content: XmlContent, headers: AwsReply["headers"] = {}): AwsReply => ({
  status: 200,
  headers: { "content-type": "application/xml", ...headers },
  body: `${HEAD}<${name} xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${printXml(content)}</${name}>`,
});

export const xmlFailed = ({ status, code, message }: AwsError): AwsReply => ({
  status,
  headers: { "content-type": "application/xml" },
  // A 304 has no body.
  ...(status === 304
    ? {}
    : { body: `${HEAD}${printXml({ Error: { Code: code, Message: message, RequestId: "fake" } })}` }),
});

export const injected: InjectedErrors = {
  unavailable: failure(503, "ServiceUnavailable", "Service is unable to handle request (injected)."),
  permission_denied: failure(403, "AccessDenied", "Access Denied (injected)."),
  resource_exhausted: failure(503, "SlowDown", "Please reduce your request rate (injected)."),
};
