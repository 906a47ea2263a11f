/** CRC-32C (Castagnoli), the checksum of Cloud Storage objects: https://cloud.google.com/storage/docs/hashes-etags */
const POLYNOMIAL = 0x82f63b78;

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ POLYNOMIAL : value >>> 1;
  return value >>> 0;
});

/** Base64 of the four bytes, big-endian. */
export const crc32c = (bytes: Uint8Array): string => {
  let value = 0xffffffff;
  for (const byte of bytes) value = ((table[(value ^ byte) & 0xff] as number) ^ (value >>> 8)) >>> 0;
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE((value ^ 0xffffffff) >>> 0);
  return sum.toString("base64");
};
