/** Reads a JWT before its signature is verified: only to find what verifies it, and what is refused without that. */
import { decodeJwt, decodeProtectedHeader, type JWTPayload } from 'jose'

/** A compact JWS whose payload names an issuer. Nothing in it is verified. */
export interface UnverifiedToken {
  readonly text: string
  readonly issuer: string
  /** Undefined if the header cannot be read. */
  readonly header: Readonly<Record<string, unknown>> | undefined
}

const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]*$/

/** Returns the token; undefined for any other text. */
export function readToken(text: string): UnverifiedToken | undefined {
  if (!COMPACT.test(text)) return undefined
  const issuer = unverifiedClaims(text)?.iss
  return typeof issuer === 'string'
    ? { text, issuer, header: unlessThrown(() => ({ ...decodeProtectedHeader(text) })) }
    : undefined
}

/** Returns the claims; undefined for text that is not a JWT. */
export function unverifiedClaims(text: string): JWTPayload | undefined {
  return unlessThrown(() => decodeJwt(text))
}

/** Returns true if each part is the one base64url text of its bytes. Decoders also accept texts with other unused bits at the end. */
export function isCanonical(token: string): boolean {
  return token.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part)
}

function unlessThrown<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
