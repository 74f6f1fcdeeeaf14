/** Reads the claims of a JWT before it is verified: only to find what verifies it. */
import { decodeJwt, type JWTPayload } from 'jose'

/** Returns the claims; undefined for text that is not a JWT. */
export function unverifiedClaims(text: string): JWTPayload | undefined {
  try {
    return decodeJwt(text)
  } catch {
    return undefined
  }
}
