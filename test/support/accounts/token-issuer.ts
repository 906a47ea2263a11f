/** An identity provider for tests: signing keys, valid and invalid tokens, and a key set over HTTP. */
import { createServer } from "node:http";
import { type CryptoKey, exportJWK, exportSPKI, generateKeyPair, type JWK, type JWTPayload, SignJWT } from "jose";

export interface IssuerKey {
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
  readonly jwk: JWK;
}

export const issuerKey = async (kid: string, algorithm = "ES256"): Promise<IssuerKey> => {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true });
  return { kid, privateKey, publicKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: algorithm, use: "sig" } };
};

export const ISSUER = "https://id.example/tenant";
export const AUDIENCE = "portside-test";

/** Claims of a token that is valid now. */
export const goodClaims = (now: number): JWTPayload => ({
  iss: ISSUER,
  aud: AUDIENCE,
  sub: "user-1",
  iat: now,
  exp: now + 600,
});

export const signed = (claims: JWTPayload, key: IssuerKey): Promise<string> =>
  new SignJWT(claims).setProtectedHeader({ alg: key.jwk.alg as string, kid: key.kid }).sign(key.privateKey);

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** A hand-made token with any header and any signature. */
export const forged = (header: object, claims: JWTPayload, signature = ""): string =>
  `${part(header)}.${part(claims)}.${signature}`;

/** The algorithm confusion attack on old libraries: the public key is the secret of a symmetric signature. */
export const signedWithPublicKey = async (claims: JWTPayload, key: IssuerKey): Promise<string> =>
  new SignJWT(claims)
    .setProtectedHeader({ alg: "HS256", kid: key.kid })
    .sign(new TextEncoder().encode(await exportSPKI(key.publicKey)));

export interface KeyServer extends AsyncDisposable {
  readonly url: URL;
  /** How often the key set was fetched. */
  readonly asked: () => number;
  /** The response from now on. */
  serve(answer: KeyAnswer): void;
}

export type KeyAnswer = { readonly keys: readonly IssuerKey[] } | { readonly status: number; readonly body: string };

/** The issuer's key set at a loopback address. */
export const serveKeys = async (first: KeyAnswer): Promise<KeyServer> => {
  let answer = first;
  let asked = 0;
  const server = createServer((_request, response) => {
    asked++;
    if ("status" in answer) return response.writeHead(answer.status).end(answer.body);
    response.writeHead(200, { "content-type": "application/json" });
    return response.end(JSON.stringify({ keys: answer.keys.map(({ jwk }) => jwk) }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return {
    url: new URL(`http://127.0.0.1:${port}/keys`),
    asked: () => asked,
    serve: (next) => {
      answer = next;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
