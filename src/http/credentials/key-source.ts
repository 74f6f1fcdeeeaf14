/** Where the keys of an issuer come from. */
import type { KeyObject } from 'node:crypto'
import type { CryptoKey } from 'jose'
import type { JwtAlgorithm } from './jwt-algorithms.ts'

/** The members of a token's header that choose a key. */
export interface KeyHint {
  readonly alg: JwtAlgorithm
  readonly kid?: string
}

/** The keys of an issuer. */
export interface KeySource {
  /** Returns the keys that can have signed a token, in the order in which they are tried. Throws `unavailable` if they cannot be fetched. */
  find(hint: KeyHint): Promise<readonly (KeyObject | CryptoKey)[]>
}
