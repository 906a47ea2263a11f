/** A self-signed certificate for `*.apps.portside.test`, valid for a hundred years. It protects nothing. */
import { createPrivateKey } from "node:crypto";

const KEY = `
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgm7FUzLQNsHZvA+i71pkrq7t09FE7lsDocDIuN84jYQahRANCAAToExI2Z2a2/d
FGXJyZPzrNwJkTBnTlEiDm3kfpnaqCjqjw9sms63aOaDjJrD6/dVGqCHa+m/3P43+FMsta+CTU
`;

const CERTIFICATE = `
MIIBtjCCAVygAwIBAgIUf2hGASBXx8A4A0hRzB5DJ1gWkVcwCgYIKoZIzj0EAwIwHzEdMBsGA1UEAwwUKi5hcHBzLnBvcnRzaWRlLnRlc3QwIB
cNMjYxMTI2MTY0OTIyWhgPMjEyNjExMDIxNjQ5MjJaMB8xHTAbBgNVBAMMFCouYXBwcy5wb3J0c2lkZS50ZXN0MFkwEwYHKoZIzj0CAQYIKoZI
zj0DAQcDQgAE6BMSNmdmtv3RRlycmT86zcCZEwZ05RIg5t5H6Z2qgo6o8PbJrOt2jmg4yaw+v3VRqgh2vpv9z+N/hTLLWvgk1KN0MHIwHQYDVR
0OBBYEFJBrT97AItAXvdPdMBNBYpzmqY7DMB8GA1UdIwQYMBaAFJBrT97AItAXvdPdMBNBYpzmqY7DMA8GA1UdEwEB/wQFMAMBAf8wHwYDVR0R
BBgwFoIUKi5hcHBzLnBvcnRzaWRlLnRlc3QwCgYIKoZIzj0EAwIDSAAwRQIgEafAhsrkF0fL/S1jz7vepensvx/0xUnKOEYczzts3+0CIQC6r7
khQ11k6JFG2sFchnNZ420ubyn5PJEvqwpHFkyCeg==
`;

export const privateKey = createPrivateKey({ key: Buffer.from(KEY, "base64"), format: "der", type: "pkcs8" })
  .export({ format: "pem", type: "pkcs8" })
  .toString();

export const certificate = `-----BEGIN CERTIFICATE-----${CERTIFICATE}-----END CERTIFICATE-----\n`;
