/** What core asks of signing: checkpoints of the audit trail are signed by a key the vault never sees. */

/** An Ed25519 key at work (RFC 8032). */
export interface Signer {
  /** Names the key, so that a verifier knows which public key to take. 1 to 128 characters. */
  readonly keyId: string
  /** The 64-byte signature of these bytes. */
  sign(bytes: Uint8Array): Promise<Uint8Array>
}

/** The other half: who checks. */
export interface SignatureVerifier {
  readonly keyId: string
  /** True when the signature is this key's over these bytes. */
  verify(bytes: Uint8Array, signature: Uint8Array): boolean
}
