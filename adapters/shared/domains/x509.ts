/** Creates certificates and certificate requests: RFC 5280 and RFC 2986. */
import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { type Instant, millisOf } from "../../../core/domain/wire/instant.ts";
import {
  bitString,
  boolean,
  encode,
  implicit,
  integer,
  objectIdentifier,
  octetString,
  sequence,
  tagged,
  tags,
  time,
} from "./der.ts";

/** Creates a private key on the curve P-256, PKCS #8 in PEM. */
export const newPrivateKey = (): string =>
  generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" }).toString();

const oids = {
  commonName: "2.5.4.3",
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
  sha256WithRsa: "1.2.840.113549.1.1.11",
  extensionRequest: "1.2.840.113549.1.9.14",
  subjectKeyIdentifier: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKeyIdentifier: "2.5.29.35",
  extendedKeyUsage: "2.5.29.37",
  serverAuth: "1.3.6.1.5.5.7.3.1",
} as const;

const NULL = Uint8Array.of(0x05, 0x00);

/** An extension of a certificate, encoded. */
export const extension = (oid: string, critical: boolean, value: Uint8Array): Buffer =>
  sequence(objectIdentifier(oid), ...(critical ? [boolean(true)] : []), octetString(value));

/** The extension with the host names that a certificate is valid for. Critical if the subject is empty. */
const hostsExtension = (hosts: readonly string[], critical: boolean): Buffer =>
  extension(oids.subjectAltName, critical, sequence(...hosts.map((host) => implicit(2, Buffer.from(host, "ascii")))));

const nameOf = (commonName: string | undefined): Buffer =>
  commonName === undefined
    ? sequence()
    : sequence(
        encode(tags.set, sequence(objectIdentifier(oids.commonName), encode(tags.utf8String, Buffer.from(commonName)))),
      );

const algorithmOf = (key: KeyObject): Buffer =>
  key.asymmetricKeyType === "rsa"
    ? sequence(objectIdentifier(oids.sha256WithRsa), NULL)
    : sequence(objectIdentifier(oids.ecdsaWithSha256));

/** Appends the signature of an RSA or EC key. */
const signed = (content: Uint8Array, key: KeyObject): Buffer =>
  sequence(content, algorithmOf(key), bitString(sign("sha256", content, key)));

const publicKeyInfo = (key: KeyObject): Buffer =>
  (key.type === "private" ? createPublicKey(key) : key).export({ type: "spki", format: "der" });

/** A short identifier of a public key (RFC 7093, section 2, method 1, on the complete key). */
const keyIdentifier = (key: KeyObject): Buffer =>
  createHash("sha256").update(publicKeyInfo(key)).digest().subarray(0, 20);

/** Creates a certificate request for one host, in DER. The subject is empty: authorities read the extension. */
export const certificateRequest = (host: string, key: KeyObject): Buffer => {
  const extensions = encode(tags.set, sequence(hostsExtension([host], false)));
  const attributes = tagged(0, sequence(objectIdentifier(oids.extensionRequest), extensions));
  return signed(sequence(integer(Uint8Array.of(0)), nameOf(undefined), publicKeyInfo(key), attributes), key);
};

/** A certificate to sign. */
export interface CertificateContent {
  /** The common name of the subject; undefined for an empty subject. */
  readonly subject?: string | undefined;
  /** The common name of the issuer. */
  readonly issuer: string;
  readonly issuerKey: KeyObject;
  readonly publicKey: KeyObject;
  /** The host names; empty for an authority, which may then sign other certificates. */
  readonly hosts: readonly string[];
  readonly from: Instant;
  readonly until: Instant;
  /** Further extensions, encoded. */
  readonly extensions?: readonly Uint8Array[];
}

const usageExtensions = ({ hosts, subject }: CertificateContent): readonly Buffer[] =>
  hosts.length === 0
    ? [
        extension(oids.basicConstraints, true, sequence(boolean(true))),
        // keyCertSign and cRLSign
        extension(oids.keyUsage, true, encode(tags.bitString, Uint8Array.of(1, 0x06))),
      ]
    : [
        extension(oids.basicConstraints, true, sequence()),
        extension(oids.extendedKeyUsage, false, sequence(objectIdentifier(oids.serverAuth))),
        hostsExtension(hosts, subject === undefined),
      ];

/** Returns base64 text in lines between the two marks of PEM (RFC 7468). */
const pemOf = (label: string, bytes: Buffer): string =>
  `-----BEGIN ${label}-----\n${bytes.toString("base64").replaceAll(/.{1,64}/g, "$&\n")}-----END ${label}-----\n`;

/** Signs a certificate and returns it in PEM. Its serial number is random. */
export const signCertificate = (content: CertificateContent): string => {
  const { subject, issuer, issuerKey, publicKey, from, until, extensions = [] } = content;
  const fields = sequence(
    tagged(0, integer(Uint8Array.of(2))),
    integer(Buffer.concat([Uint8Array.of(0x40), randomBytes(15)])),
    algorithmOf(issuerKey),
    nameOf(issuer),
    sequence(time(millisOf(from)), time(millisOf(until))),
    nameOf(subject),
    publicKeyInfo(publicKey),
    tagged(
      3,
      sequence(
        ...usageExtensions(content),
        extension(oids.subjectKeyIdentifier, false, octetString(keyIdentifier(publicKey))),
        extension(oids.authorityKeyIdentifier, false, sequence(implicit(0, keyIdentifier(issuerKey)))),
        ...extensions,
      ),
    ),
  );
  return pemOf("CERTIFICATE", signed(fields, issuerKey));
};
