/**
 * Reads the first message of a TLS connection. Node chooses a certificate before it knows the client's protocols, but
 * the certificate for `acme-tls/1` depends on them. https://www.rfc-editor.org/rfc/rfc8446#section-4.1.2
 */

export interface ClientHello {
  /** The host name as the client sent it; undefined if the client sent none. */
  readonly serverName: string | undefined;
  /** The client's application protocols, in its order of preference. */
  readonly protocols: readonly string[];
}

/**
 * The maximum size of the records that contain the message. OpenSSL's own limit is larger; browsers send about 2 KiB.
 */
export const MAX_HELLO_BYTES = 16 * 1024;

const HANDSHAKE_RECORD = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const HOST_NAME = 0;
const APPLICATION_PROTOCOLS = 16;
const RECORD_HEAD = 5;
const MESSAGE_HEAD = 4;
const VERSION_AND_RANDOM = 34;

class Malformed extends Error {}

/** Reads fields one after another. Throws `Malformed` past the end. */
class Fields {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isEmpty(): boolean {
    return this.#at >= this.#bytes.length;
  }

  take(length: number): Buffer {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new Malformed();
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }

  number(length: 1 | 2): number {
    return this.take(length).readUIntBE(0, length);
  }

  /** Takes a field that is preceded by its length. */
  field(lengthBytes: 1 | 2): Buffer {
    return this.take(this.number(lengthBytes));
  }
}

/**
 * Returns the message inside the records, or undefined if it is incomplete. A call copies each byte once,
 * because a hostile client may send thousands of records of one byte.
 */
const messageOf = (bytes: Buffer): Buffer | undefined => {
  const message = Buffer.allocUnsafe(bytes.length);
  let length = 0;
  for (let at = 0; at < bytes.length; ) {
    if (bytes[at] !== HANDSHAKE_RECORD) throw new Malformed();
    if (bytes.length < at + RECORD_HEAD) return undefined;
    const size = bytes.readUInt16BE(at + 3);
    if (size === 0) throw new Malformed();
    length += bytes.copy(message, length, at + RECORD_HEAD, at + RECORD_HEAD + size);
    if (length >= 1 && message[0] !== CLIENT_HELLO) throw new Malformed();
    if (length >= MESSAGE_HEAD) {
      const end = MESSAGE_HEAD + message.readUIntBE(1, 3);
      if (end > MAX_HELLO_BYTES) throw new Malformed();
      if (length >= end) return message.subarray(MESSAGE_HEAD, end);
    }
    at += RECORD_HEAD + size;
  }
  return undefined;
};

const serverNameIn = (extension: Buffer): string | undefined => {
  const names = new Fields(new Fields(extension).field(2));
  while (!names.isEmpty) {
    const type = names.number(1);
    const name = names.field(2);
    if (type === HOST_NAME) return name.toString("latin1");
  }
  return undefined;
};

const protocolsIn = (extension: Buffer): string[] => {
  const names = new Fields(new Fields(extension).field(2));
  const protocols: string[] = [];
  while (!names.isEmpty) protocols.push(names.field(1).toString("latin1"));
  return protocols;
};

const readMessage = (message: Buffer): ClientHello => {
  const fields = new Fields(message);
  fields.take(VERSION_AND_RANDOM);
  fields.field(1); // session id
  fields.field(2); // cipher suites
  fields.field(1); // compression methods
  let serverName: string | undefined;
  let protocols: readonly string[] = [];
  const extensions = new Fields(fields.isEmpty ? Buffer.alloc(0) : fields.field(2));
  while (!extensions.isEmpty) {
    const type = extensions.number(2);
    const extension = extensions.field(2);
    if (type === SERVER_NAME) serverName = serverNameIn(extension);
    else if (type === APPLICATION_PROTOCOLS) protocols = protocolsIn(extension);
  }
  return { serverName, protocols };
};

/**
 * Reads the message at the start of a connection.
 * @returns "incomplete" if more bytes must arrive, and "malformed" if the bytes cannot start a TLS connection
 */
export const readClientHello = (bytes: Buffer): ClientHello | "incomplete" | "malformed" => {
  try {
    const message = messageOf(bytes);
    if (message !== undefined) return readMessage(message);
    return bytes.length < MAX_HELLO_BYTES ? "incomplete" : "malformed";
  } catch (error) {
    if (error instanceof Malformed) return "malformed";
    throw error;
  }
};
